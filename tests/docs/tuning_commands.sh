#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The searches that docs/tuning.md shows, in blocks and in the text, are accepted: each is run with --space, which reads all
# its options and prints what would be searched. Arguments: the fovea command, the page.
set -euo pipefail
fovea=$1 page=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
count=0
while IFS= read -r command; do
  read -ra words <<<"${command#fovea }"
  "$fovea" "${words[@]}" --space >out.txt || {
    echo "$page: not accepted: $command"
    exit 1
  }
  grep -q ' schedules$' out.txt || {
    echo "$page: searches nothing: $command"
    exit 1
  }
  count=$((count + 1))
done < <(grep -oE '^fovea tune --[^`]+|`fovea tune --[^`]+`' "$page" | tr -d '`' |
  grep -vE -- '--again|--compare|…')
[ "$count" -ge 4 ] || {
  echo "$page: $count searches found"
  exit 1
}
echo "$count searches"
