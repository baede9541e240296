#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every code block of a page that follows <!-- from: FILE --> must stand in FILE word for word, and every relative link
# must lead to a file. Argument: the project's root. Prints page, line and what is wrong; status 1 if anything is.
set -euo pipefail
root=$1
cd "$root"
wrong=0
complain() {
  echo "$1" >&2
  wrong=1
}
pages=$(find . -name '*.md' -not -path './build/*' -not -path '*/build/*' | sort)
for page in $pages; do
  folder=$(dirname "$page")
  file="" inside=0 quoted=0 line=0 start=0 block=""
  while IFS= read -r text || [ -n "$text" ]; do
    line=$((line + 1))
    if [[ $text == '```'* ]]; then
      if [ $inside -eq 0 ]; then
        inside=1 start=$line block=""
        quoted=0
        [ -z "$file" ] || quoted=1
        continue
      fi
      inside=0
      [ $quoted -eq 1 ] || continue
      if [ ! -f "$file" ]; then
        complain "$page:$start: quotes $file, which does not exist"
      elif [[ "$(<"$file")"$'\n' != *"$block"* ]]; then
        complain "$page:$start: the block does not stand in $file word for word"
      fi
      file=""
    elif [ $inside -eq 1 ]; then
      block+=$text$'\n'
    elif [[ $text =~ ^'<!-- from: '(.*)' -->'$ ]]; then
      file=${BASH_REMATCH[1]}
    else
      # Links that are neither web addresses nor anchors, outside of code: [](int a) is a function.
      while IFS= read -r target; do
        [ -z "$target" ] || [ -e "$folder/$target" ] || complain "$page:$line: link to $target, which does not exist"
      done < <(sed 's/`[^`]*`//g' <<<"$text" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(//; s/\)$//; s/#.*//' | grep -vE '^[a-z]+:' || true)
    fi
  done <"$page"
done
exit $wrong
