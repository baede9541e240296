#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CMake style: lower-case commands, target commands only, nothing downloaded, no code for the build machine's CPU.
set -euo pipefail
# shellcheck source=tests/style/report.sh
. "$(dirname "$0")/report.sh"

code=$(mktemp -d)
trap 'rm -rf "$_found_list" "$code"' EXIT
cmake_files | while IFS= read -r file; do
  # Comments and quoted text are not commands.
  sed -E 's/"([^"\\]|\\.)*"/""/g; s/#.*//' "$file" >"$code/text"
  look() {
    { grep -nE -e "$3" "$code/text" || true; } | while IFS=: read -r line rest; do
      found "$file" "$line" "$1" "$2: $(sed 's/^[[:space:]]*//' <<<"$rest" | cut -c1-80)"
    done
  }
  look cmake-case "commands are written in lower case" '^[[:space:]]*[a-z_]*[A-Z][A-Za-z_0-9]*\('
  look cmake-download "nothing is downloaded while configuring or building; use find_package" \
    '(^|[^A-Za-z0-9_])(FetchContent|ExternalProject)|file\([[:space:]]*DOWNLOAD'
  look cmake-directory "applies to a whole directory; use the target_ command" \
    '^[[:space:]]*(include_directories|link_libraries|link_directories|add_definitions|add_compile_definitions|add_compile_options|add_link_options)[[:space:]]*\('
  look cmake-native "results must not depend on the build machine's CPU" 'm(arch|cpu|tune)=native'
done
finish cmake
