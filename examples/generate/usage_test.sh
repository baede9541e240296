#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wrong usage ends with the right exit code and a message that names the option, its value and what is allowed.
# Arguments: the program, its weights, the fixture, a scratch folder.
set -euo pipefail
program=$1 weights=$2 fixture=$3 scratch=$4
mkdir -p "$scratch"
failed=0

# refused CODE TEXT… -- OPTION…: every TEXT is in what the program says.
refused() {
  local code=$1 rc=0 said text texts=()
  shift
  while [ "$1" != -- ]; do texts+=("$1") && shift; done
  shift
  said=$("$program" "$@" 2>&1) || rc=$?
  if [ "$rc" -ne "$code" ]; then
    echo "FAIL  exit code $rc, expected $code: ${*:0:60}"
    failed=1
  fi
  for text in "${texts[@]}"; do
    if [[ $said != *"$text"* ]]; then
      echo "FAIL  no '$text' in: $said"
      failed=1
    fi
  done
}

long=$(printf 'x%.0s' {1..1000})
refused 2 --prompt empty "at least 1 byte" -- --prompt ""
refused 2 --prompt "1000 bytes" "--tokens 200" "1 to 824 bytes" -- --prompt "$long" --tokens 200
refused 2 --tokens 5000 "at most 1023 tokens" -- --tokens 5000
refused 2 --cache fp8 none contiguous paged ring int8 int4 e4m3 e5m2 -- --cache fp8
refused 2 "--cache ring" --window -- --cache ring
refused 2 --sinks --window -- --sinks 4
refused 2 --threads -3 1024 -- --threads -3
refused 2 --window -1 -- --window -1
refused 1 --weights "$scratch/nowhere" "cannot be opened" -- --weights "$scratch/nowhere"
refused 1 --weights "cannot be opened" -- --weights "$scratch"
for bytes in 0 5 100 10000 -1; do
  head -c "$bytes" "$weights" >"$scratch/short"
  refused 1 --weights "$scratch/short" truncated -- --weights "$scratch/short"
done
printf '\x02\0\0\0\0\0\0\0{}' >"$scratch/empty"
refused 1 --weights "no settings" -- --weights "$scratch/empty"
sed 's/"kv_heads": "2"/"kv_heads": "3"/' "$weights" >"$scratch/heads"
refused 1 --weights heads "multiple of kv_heads" -- --weights "$scratch/heads"
sed 's/"width": "128"/"width": "256"/' "$weights" >"$scratch/width"
refused 1 --weights embedding.weight "[256,128]" "[256,256]" -- --weights "$scratch/width"
refused 1 --check "$scratch/empty" "no fixture" -- --check "$scratch/empty"
# A check that cannot fail is none: another window gives other logits.
sed 's/"window":64,/"window":63,/' "$fixture" >"$scratch/window.json"
refused 1 FAIL "check FAILED" -- --check "$scratch/window.json"
[ "$failed" -eq 0 ] && echo "every mistake is named"
exit "$failed"
