#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_quotes.sh must accept a right quotation and refuse a wrong one, a missing file and a dead link.
# Argument: a scratch folder.
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/check_quotes.sh
rm -rf "$1"
mkdir -p "$1"
cd "$1"
printf 'int a;\nint b;\n' >code.cpp
expect() { # status, page text
  printf '%b' "$2" >page.md
  status=0
  bash "$check" . 2>error.txt || status=$?
  [ "$status" -eq "$1" ] || { echo "expected status $1, got $status for: $2" >&2; cat error.txt >&2; exit 1; }
}
expect 0 '<!-- from: code.cpp -->\n```cpp\nint b;\n```\n[code](code.cpp)\n'
expect 1 '<!-- from: code.cpp -->\n```cpp\nint c;\n```\n'
expect 1 '<!-- from: gone.cpp -->\n```cpp\nint b;\n```\n'
expect 1 '[code](gone.cpp)\n'
expect 0 'a function `[](int a) { return a; }` is no link\n'
