#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the tables of docs/benchmarks.md and of the README anew and writes them there: bash scripts/benchmarks.sh [--quick]
# About 20 minutes, on a machine with nothing else to do; --quick takes about 3, with fewer shapes. Peers that are installed
# (scripts/peers.sh) are measured, too.
# Environment: FOVEA_PRESET (release) is the CMake preset.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
# shellcheck source=scripts/steps.sh
. "$root/scripts/steps.sh"
preset=${FOVEA_PRESET:-release}
lengths='512|2048' long='4096|8192' dims='64|128' types=f32,bf16,f16 rounds=7 seconds=1
case "${1:-}" in
  "") ;;
  --quick) lengths=2048 long='' dims=64 types=f32,bf16 rounds=5 seconds=1 ;;
  -h | --help)
    sed -n '3,6s/^# //p' "$0"
    exit 0
    ;;
  *) fail "unknown option '$1'; allowed is --quick" ;;
esac
bash "$root/scripts/setup.sh"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
step "Configuring preset $preset" cmake --preset "$preset"
step "Building the fovea command" cmake --build --preset "$preset" --target fovea
threads=1
[ "$(nproc)" -eq 1 ] || threads=1,2
results=$root/build/benchmarks
mkdir -p "$results"

# measure NAME ARGUMENT…: a table into build/benchmarks/NAME.md, the progress beside it.
measure() {
  local name=$1
  shift
  step "Measuring $name" bash -c '"$@" >"$0"' "$results/$name.md" "build/$preset/bin/fovea" bench --markdown \
    --threads "$threads" --rounds "$rounds" --max-time "$seconds" "$@"
}

# FlexAttention compiles for seconds before each case and is behind the others where there is no mask to skip by: it takes
# part at one length. Long sequences have fewer heads, so that a call stays short.
shapes=("sq=$lengths,d=$dims")
[ -z "$long" ] || shapes+=("hq=2,sq=$long,d=$dims")
measure plain --variant full,causal --dtype "$types" --shape "${shapes[@]}" --peers sdpa,onnxruntime,ggml
measure grouped --variant full,causal --dtype "$types" --shape "hq=32,hkv=8,sq=2048,d=128" --peers sdpa,onnxruntime,ggml
measure flex --variant full,causal,alibi_causal,softcapped --shape sq=2048 --peers flex,ggml
masks=()
if [ -n "$long" ]; then
  measure window --variant causal_window --set window=1024 --shape hq=2,sq=8192 --peers flex,onnxruntime,ggml
  measure global_window --variant global_window --set window=256 global=16 --shape hq=2,sq=8192 --peers flex,ggml
  measure documents --variant documents --set document=parts:8 --shape sq=4096 --peers flex
  measure prefix --variant prefix_lm --shape sq=4096 --peers flex
  masks=(window global_window documents prefix)
else
  measure window --variant causal_window --set window=256 --shape sq=2048 --peers flex,onnxruntime,ggml
  masks=(window)
fi
measure readme --variant full,causal --dtype f32,bf16 --shape sq=2048 --peers sdpa,onnxruntime,ggml

# write FILE MARK NAME…: the tables between the lines <!-- MARK: begin --> and <!-- MARK: end -->. Tables of one column
# layout would need one set of peers; each keeps its own, under the line that says where and of what it was measured.
write() {
  local file=$1 mark=$2
  shift 2
  local name
  for name in "$@"; do
    cat "$results/$name.md"
    echo
  done >"$results/$mark.new"
  grep -q "^<!-- $mark: begin -->\$" "$file" && grep -q "^<!-- $mark: end -->\$" "$file" ||
    fail "$file has no lines <!-- $mark: begin --> and <!-- $mark: end -->"
  awk -v mark="$mark" -v text="$results/$mark.new" '
    $0 == "<!-- " mark ": end -->" { skip = 0 }
    !skip
    $0 == "<!-- " mark ": begin -->" { skip = 1; print ""; while ((getline line < text) > 0) print line }
  ' "$file" >"$results/page"
  cat "$results/page" >"$file"
}
write docs/benchmarks.md plain plain
write docs/benchmarks.md grouped grouped
write docs/benchmarks.md flex flex
write docs/benchmarks.md masks "${masks[@]}"
write README.md readme readme
echo "Done in $(total_time): docs/benchmarks.md and README.md are written anew"
