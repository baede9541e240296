#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats every tracked C and C++ file in place with clang-format-19, or only the files given.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
command -v clang-format-19 >/dev/null || {
  echo "fovea: clang-format-19 is missing; run: bash scripts/setup.sh" >&2
  exit 1
}
if [ $# -gt 0 ]; then
  clang-format-19 -i -- "$@"
else
  # shellcheck source=tests/style/files.sh
  . "$root/tests/style/files.sh"
  cd "$root"
  source_files | xargs -r -d '\n' -n 20 -P 2 clang-format-19 -i
fi
