#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C and C++ file is formatted as clang-format-19 with the tree's .clang-format does it.
set -euo pipefail
# shellcheck source=tests/style/report.sh
. "$(dirname "$0")/report.sh"
command -v clang-format-19 >/dev/null || {
  echo "clang-format-19 is missing; run: bash scripts/setup.sh"
  exit 2
}
# One line per file, with its first difference: scripts/format.sh repairs all of them.
rc=0
output=$(source_files | xargs -r -d '\n' clang-format-19 --dry-run --Werror --ferror-limit=1 2>&1) || rc=$?
{ grep -E '^[^ ]+:[0-9]+:[0-9]+: (error|warning):' <<<"$output" || true; } | sort -u | while IFS=: read -r file line _; do
  found "$file" "$line" format "not formatted; run: bash scripts/format.sh"
done
# A broken .clang-format gives an error without a place.
if [ "$rc" -ne 0 ] && [ ! -s "$_found_list" ]; then
  echo "clang-format-19 failed: $output"
  exit 2
fi
finish format
