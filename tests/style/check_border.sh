#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The border of runtime/: it ships to users, so it never includes Halide's compiler, never throws, prints, aborts or exits,
# and allocates only through malloc or the caller's allocator, never through containers or new.
set -euo pipefail
# shellcheck source=tests/style/report.sh
. "$(dirname "$0")/report.sh"

code=$(mktemp)
trap 'rm -f "$_found_list" "$code"' EXIT
start='(^|[^A-Za-z0-9_])' # before a word; what follows a word is spelled out where it matters

rules=(
  "compiler-include|#[[:space:]]*include[[:space:]]*[<\"]([^>\"]*/)?Halide\.h[>\"]|includes Halide's compiler (HalideRuntime.h is the allowed part)"
  "stream-include|#[[:space:]]*include[[:space:]]*<(iostream|ostream|istream|fstream|sstream|iomanip|print|syncstream)>|includes streams: they allocate, print and run static initialisers"
  "throw|${start}throw([^A-Za-z0-9_]|\$)|throws; return a fovea_status"
  "abort|${start}(abort|terminate|_Exit|quick_exit|exit|assert|__builtin_trap)[[:space:]]*\(|ends the caller's process; return a fovea_status"
  "print|${start}(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|fputc|putc|perror|fwrite|dprintf)[[:space:]]*\(|prints; leave the text in fovea_last_message()"
  "print|${start}std::(cout|cerr|clog|print|println)|prints; leave the text in fovea_last_message()"
  "container|${start}std::(vector|string|wstring|map|set|unordered_map|unordered_set|deque|list|function|make_unique|make_shared|ostringstream|stringstream|to_string)([^A-Za-z0-9_]|\$)|allocates and may throw; use a fixed buffer, the workspace or the allocator"
  "new|${start}new[[:space:]]+[A-Za-z_(]|${start}new\(|may throw; use the workspace or the allocator"
)

tracked_files 'runtime/*' | { grep -E '\.(h|hpp|c|cc|cpp|inc|def|in)$' || true; } | while IFS= read -r file; do
  without_comments "$file" >"$code"
  for rule in "${rules[@]}"; do
    name=${rule%%|*}
    text=${rule##*|}
    regex=${rule#*|}
    regex=${regex%|*}
    { grep -nE -e "$regex" "$code" || true; } | while IFS=: read -r line _; do
      found "$file" "$line" "border/$name" "$text: $(sed -n "${line}{s/^[[:space:]]*//;p}" "$file" | cut -c1-80)"
    done
  done
done
finish border
