#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program as people call it: results, exit codes, messages. Arguments: PROGRAM, the model folder, a folder for files.
set -euo pipefail
[ $# -eq 3 ] || {
  echo "usage: command_test.sh PROGRAM MODEL SCRATCH"
  exit 2
}
program=$1 model=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch/cut"
failures=0

# expect CODE TEXT ARGUMENT…: exit code and a text that the output holds.
expect() {
  local code=$1 text=$2 output rc=0
  shift 2
  output=$("$program" "$@" 2>&1 </dev/null) || rc=$?
  if [ "$rc" -ne "$code" ] || ! grep -qF -- "$text" <<<"$output"; then
    echo "FAIL: transliterate $*: exit code $rc, expected $code, and '$text' in: $output"
    failures=$((failures + 1))
  fi
}

expect 0 $'محمد صلاح\tMohamed Salah' --model "$model" "محمد صلاح"
expect 0 $'محمد صلاح\tMohamed Salah' --model "$model"
expect 0 "Abderrahmane" --model "$model" --country DZ --top 3 "عبد الرحمن"
expect 0 "chosen: fovea_decode__source_attention" --model "$model" --explain "مريم"

expect 2 "--model is required" "مريم"
expect 2 "--beam" --model "$model" --beam 0 "مريم"
expect 1 "no/such/meta.json: cannot be opened" --model no/such "مريم"
expect 1 "name 1 (''): nothing is left of the name, expected Arabic letters" --model "$model" ""
expect 1 "name 2 ('Ali'): character 1 is U+0041 (A), which the model does not know; allowed: ء" --model "$model" "مريم" "Ali"
expect 1 "part 2: character 1 is U+0031 (1)" --model "$model" "مريم 1"
expect 1 "has 50 characters, allowed are at most 37" --model "$model" "$(printf 'م%.0s' {1..50})"
expect 1 "country is 'XX', allowed: AE BH" --model "$model" --country XX "مريم"
expect 1 "role is 'king', allowed: given surname unknown" --model "$model" --role king "مريم"
expect 1 "no/such/names.txt: cannot be opened" --model "$model" --input no/such/names.txt
expect 1 "standard input: has no names" --model "$model" --input -
expect 1 "no/such.json: cannot be opened" --model "$model" --check no/such.json
expect 1 "2 parts of names, expected one" --model "$model" --heat-map "$scratch/two.png" "محمد صلاح"
expect 1 "no/such/map.png: cannot be written" --model "$model" --heat-map no/such/map.png "مريم"

# A download that stopped half-way.
cp "$model/meta.json" "$model/vocab.json" "$scratch/cut"
head -c 3000000 "$model/model.safetensors" >"$scratch/cut/model.safetensors"
expect 1 "cut/model.safetensors: is truncated: tensor" --model "$scratch/cut" "مريم"
head -c 300 "$model/vocab.json" >"$scratch/cut/vocab.json"
expect 1 "cut/vocab.json: tokens is missing" --model "$scratch/cut" "مريم"

expect 0 "13 steps over 13 tokens" --model "$model" --country EG --heat-map "$scratch/map.png" "عبد الرحمن"
[ "$(head -c 8 "$scratch/map.png" | od -An -tx1)" = " 89 50 4e 47 0d 0a 1a 0a" ] || {
  echo "FAIL: map.png is no PNG file"
  failures=$((failures + 1))
}
expect 0 "By length of the name" --model "$model" --story

[ "$failures" -eq 0 ] && echo "all as expected"
exit $((failures > 0))
