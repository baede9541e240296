# SPDX-License-Identifier: Apache-2.0
# Which files the style checks read. Sourced; run in the root of the tree to be checked.
# shellcheck shell=bash

# tracked_files [PATTERN…]: files git knows, or, in a tree without git (a release archive, a self-test's sample), all files
# outside build/. A file that is staged for removal but gone is left out.
tracked_files() {
  if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
    git ls-files -- "$@"
  else
    find . -path ./build -prune -o -type f -print | sed 's|^\./||' | match_any "$@"
  fi | sort | while IFS= read -r file; do
    if [ -f "$file" ]; then printf '%s\n' "$file"; fi
  done
}

# As git does it: a pattern without a slash is matched against the end of the whole path, * crosses folders.
match_any() {
  local file pattern
  while IFS= read -r file; do
    [ $# -gt 0 ] || printf '%s\n' "$file"
    for pattern in "$@"; do
      # shellcheck disable=SC2254  # a pattern on purpose
      case "$file" in $pattern) printf '%s\n' "$file" && break ;; esac
    done
  done
}

# Goldens are generated text and look as the generator wants them.
without_goldens() { grep -vE '(^|/)goldens?/' || true; }

source_files() { tracked_files '*.cpp' '*.cc' '*.hpp' '*.h' '*.c' | without_goldens; }
cmake_files() { tracked_files '*CMakeLists.txt' '*.cmake' '*.cmake.in'; }
script_files() {
  tracked_files '*.sh'
  tracked_files .ci/run
}
text_files() {
  # Binary means a NUL byte: in a UTF-8 locale grep would also call a wrongly encoded text binary, and hide it.
  tracked_files | LC_ALL=C xargs -r -d '\n' grep -Il '' | without_goldens | grep -vxF LICENSE || true
}

# without_comments FILE: the file with comments blanked, and strings too except on #include lines; line numbers stay.
without_comments() {
  awk '
    BEGIN { block = 0 }
    {
      line = $0; out = ""; n = length(line); include = (line ~ /^[ \t]*#[ \t]*include/)
      for (i = 1; i <= n; ) {
        two = substr(line, i, 2); one = substr(line, i, 1)
        if (block) { if (two == "*/") { block = 0; i += 2 } else i++; continue }
        if (two == "/*") { block = 1; out = out " "; i += 2; continue }
        if (two == "//") break
        if (!include && (one == "\"" || (one == "\047" && substr(line, i - 1, 1) !~ /[0-9A-Fa-f]/))) {
          for (j = i + 1; j <= n && substr(line, j, 1) != one; j++) if (substr(line, j, 1) == "\\") j++
          out = out one one; i = j + 1; continue
        }
        out = out one; i++
      }
      print out
    }' "$1"
}
