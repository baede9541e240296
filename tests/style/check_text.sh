#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hygiene of every tracked text file: valid UTF-8, no trailing whitespace or carriage returns, a newline at the end, no
# absolute path of somebody's machine; sources carry an SPDX line, name the condition of a TODO and stay readable in length.
set -euo pipefail
# shellcheck source=tests/style/report.sh
. "$(dirname "$0")/report.sh"

longest=600 # lines; a file that is longer is hardly one idea, see allow.txt for the exceptions
mapfile -t texts < <(text_files)
mapfile -t sources < <(source_files)
mapfile -t licensed < <({ source_files && cmake_files && script_files && tracked_files '*.py' '*.def' '*.inc'; } | sort -u)

if [ ${#texts[@]} -gt 0 ]; then
  { LC_ALL=C.UTF-8 grep -naxvH '.*' -- "${texts[@]}" || true; } |
    LC_ALL=C sed -E 's/^([^:]*:[0-9]+):.*/\1/' | while IFS=: read -r file line; do
    found "$file" "$line" utf8 "not valid UTF-8"
  done
  search whitespace "whitespace at the end of the line, or a carriage return" $'[ \t\r]$' "${texts[@]}"
  for file in "${texts[@]}"; do
    [ -z "$(tail -c 1 "$file")" ] || found "$file" "$(wc -l <"$file")" newline "no newline at the end of the file"
  done
  search path "absolute path of one machine; write it relative to the source tree" \
    '(^|[^A-Za-z0-9_.})~-])/(work|root|home|tmp)(/|[^A-Za-z0-9_-]|$)' "${texts[@]}"
fi

# When a to-do is to be done decides whether it is one: TODO(when X is supported): do Y.
{ grep -nHE -e '(^|[^A-Za-z0-9_])(TODO|FIXME|XXX)($|[^A-Za-z0-9_])' -- "${sources[@]}" /dev/null || true; } |
  { grep -vE 'TODO\((when|if|once|after) [^)]+\): ' || true; } | while IFS=: read -r file line _; do
  found "$file" "$line" todo 'a TODO names its condition, "TODO(when …): …", or is an issue instead'
done

for file in "${licensed[@]}"; do
  head -n 12 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' ||
    found "$file" 1 spdx 'no "SPDX-License-Identifier: Apache-2.0" in the first 12 lines'
done

for file in "${licensed[@]}"; do
  lines=$(wc -l <"$file")
  [ "$lines" -le "$longest" ] ||
    found "$file" "$lines" length "$lines lines, more than $longest: split by idea, or add it with a reason to tests/style/allow.txt"
done

# An exception that nothing needs hides the next fault.
if [ -f "$_allow_list" ]; then
  grep -nvE '^(#|$)' "$_allow_list" | while IFS=: read -r line row; do
    read -r rule file reason <<<"$row"
    [ -n "$reason" ] || found "$_allow_list" "$line" allow "row without a reason: $row"
    [ -f "$file" ] || found "$_allow_list" "$line" allow "$file does not exist"
    [ "$rule" != length ] || [ ! -f "$file" ] || [ "$(wc -l <"$file")" -gt "$longest" ] ||
      found "$_allow_list" "$line" allow "$file is short enough now"
  done || true
fi
finish text
