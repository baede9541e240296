# SPDX-License-Identifier: Apache-2.0
# Sourced by every style check: enters the tree to be checked (first argument, default: this one), counts what is found and
# ends with a summary. A check calls found FILE LINE RULE TEXT for each place and finish NAME at its end.
# shellcheck shell=bash
style_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/style/files.sh
. "$style_folder/files.sh"
cd "${1:-$style_folder/../..}" || exit 2

# A file in which found has been called has one line; subshells of pipelines cannot count in a variable.
_found_list=$(mktemp)
trap 'rm -f "$_found_list"' EXIT

# Rows of allow.txt: RULE FILE REASON. A row without a reason, or one that is no longer needed, is itself a finding.
_allow_list=${FOVEA_STYLE_ALLOW:-tests/style/allow.txt}
allowed() { [ -f "$_allow_list" ] && grep -q "^$1 $2 [^ ]" "$_allow_list"; }

found() {
  if allowed "$3" "$1"; then return 0; fi
  echo "$1:$2: [$3] $4" | tee -a "$_found_list"
}

# search RULE TEXT REGEX FILE…: every matching line (extended regex, whole text of the file) is a finding.
search() {
  local rule=$1 text=$2 regex=$3
  shift 3
  [ $# -gt 0 ] || return 0
  { grep -naHE -e "$regex" -- "$@" || true; } | while IFS=: read -r file line rest; do
    found "$file" "$line" "$rule" "$text: $(sed 's/^[[:space:]]*//' <<<"$rest" | cut -c1-80)"
  done
}

finish() {
  local count
  count=$(wc -l <"$_found_list")
  if [ "$count" -gt 0 ]; then
    echo "$1: $count place(s) to fix"
    exit 1
  fi
  echo "$1: no findings"
}
