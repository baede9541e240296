#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of a page (its sh blocks, in one shell) and looks for its text blocks in what they print.
# Arguments: the page, the folder of the fovea command, a folder to work in.
set -euo pipefail
[ $# -eq 3 ] || {
  echo "usage: run_tour.sh PAGE BIN SCRATCH"
  exit 2
}
page=$1 bin=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch/work"
# blocks KIND: their lines, a line of % after each.
blocks() { awk -v kind="$1" '$0 == "```" kind { inside = 1; next } $0 == "```" && inside { inside = 0; print "%"; next } inside' "$page"; }
blocks sh | sed '/^%$/d' >"$scratch/commands.sh"
[ -s "$scratch/commands.sh" ] || {
  echo "$page has no commands"
  exit 1
}
# Kernels of its own, so that nothing depends on what was built before.
(cd "$scratch/work" && PATH="$bin:$PATH" XDG_CACHE_HOME="$scratch/cache" bash -euo pipefail -x "$scratch/commands.sh") \
  >"$scratch/output" 2>"$scratch/complaints" || {
  cat "$scratch/complaints"
  echo "the commands of $page failed"
  exit 1
}
output=$(<"$scratch/output")
wrong=0
block=""
while IFS= read -r line; do
  if [ "$line" != "%" ]; then
    block+=$line$'\n'
    continue
  fi
  if [[ "$output"$'\n' != *"$block"* ]]; then
    echo "$page shows what no command printed:"
    echo "$block"
    wrong=1
  fi
  block=""
done < <(blocks text)
[ -s "$scratch/work/report.html" ] && [ -s "$scratch/work/my_variant/CMakeLists.txt" ] || {
  echo "the report or the new project is missing"
  wrong=1
}
exit $wrong
