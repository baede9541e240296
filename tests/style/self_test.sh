#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that each rule of a style check can fail: a clean sample tree passes, and the same tree with one bad file is
# refused with the rule's name, the file and the line. Argument: the check (format, border, text, cmake, scripts).
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
check=$1
sample=$(mktemp -d)
trap 'rm -rf "$sample"' EXIT
export FOVEA_STYLE_ALLOW=allow.txt
cases=0
spdx='// SPDX-License-Identifier: Apache-2.0'
hash_spdx='# SPDX-License-Identifier: Apache-2.0'
first_line='#!/usr/bin/env bash'

write() {
  mkdir -p "$sample/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$sample/$1"
}

clean_tree() {
  rm -rf "${sample:?}"/* "$sample"/.[a-z]*
  cp "$folder/../../.clang-format" "$sample/"
  # Words in comments, strings and longer names are no violations.
  write runtime/src/good.cpp "$spdx" '// Never throw, abort() or printf() here; "new" is a word.' \
    '#include "HalideRuntime.h"' '' '/* std::vector' ' * exit(1) */' \
    'static_assert(sizeof(int) == 4, "abort(");' 'int renew(int exit_code) { return exit_code; }'
  write CMakeLists.txt "$hash_spdx" '# FetchContent is not used.' 'if(NOT TARGET a AND (UNIX OR APPLE))' \
    '  target_link_libraries(b PRIVATE "ExternalProject")' 'endif()'
  write docs/page.md 'Write $prefix/work/x, ./tmp/y or `${TMPDIR:-/tmp}`: relative paths, then prose — in UTF-8.'
  write scripts/good.sh "$first_line" "$hash_spdx" 'set -euo pipefail' 'echo "$@"'
}

passes() {
  local output
  cases=$((cases + 1))
  output=$(bash "$folder/check_$check.sh" "$sample" 2>&1) || {
    echo "self_test $check: a clean sample is refused ($1):" "$output"
    exit 1
  }
}

# refused RULE FILE LINE CONTENT…: the clean tree plus this file.
refused() {
  local rule=$1 file=$2 line=$3 output
  clean_tree
  write "$file" "${@:4}"
  cases=$((cases + 1))
  if output=$(bash "$folder/check_$check.sh" "$sample" 2>&1); then
    printf 'self_test %s: not caught: [%s] in %s:\n' "$check" "$rule" "$file"
    printf '  %s\n' "${@:4}"
    exit 1
  fi
  grep -qF "$file:$line: [$rule]" <<<"$output" || {
    echo "self_test $check: expected $file:$line: [$rule], got:" "$output"
    exit 1
  }
}

clean_tree
passes "nothing added"
case "$check" in
  format)
    refused format dsl/a.cpp 2 "$spdx" 'int  a ;'
    refused format tests/b.h 2 "$spdx" 'int *pointer;'
    ;;
  border)
    bad() { refused "border/$1" runtime/src/bad.cpp 2 "$spdx" "$2"; }
    bad compiler-include '#include "Halide.h"'
    bad compiler-include '#  include <halide/Halide.h>'
    bad stream-include '#include <iostream>'
    bad throw 'void f() { throw 1; }'
    bad abort 'void f() { abort(); }'
    bad abort 'void f() { std::exit (1); }'
    bad abort 'void f(int a) { assert(a); }'
    bad print 'void f() { printf("%d", 1); }'
    bad print 'void f() { std::fprintf(stderr, ""); }'
    bad print 'void f() { std::cerr << 1; }'
    bad container 'std::vector<int> a;'
    bad container 'std::string a;'
    bad new 'int* a = new int;'
    bad new 'int* a = new (buffer) int;'
    bad new '/* comment */ int* a = new int[3]; // more'
    # What the header promises is checked like the sources.
    refused border/container runtime/include/fovea/bad.h 3 "$spdx" '/* a' '*/ std::string b;'
    clean_tree
    write runtime/src/bad.cpp "$spdx" 'int* a = new int;'
    write allow.txt 'border/new runtime/src/bad.cpp a reason'
    passes "an exception with a reason"
    ;;
  text)
    # Bad text is put together here so that this file itself stays clean.
    to_do=TO; to_do+=DO
    refused path docs/bad.md 1 'See '"/"'work/main.'
    refused path docs/bad.md 2 'x' '`cd '"/"'root`'
    refused path scripts/bad.sh 3 "$first_line" "$hash_spdx" 'cd "'"/"'home/someone"'
    refused whitespace docs/bad.md 1 'blank at the end '
    refused whitespace docs/bad.md 1 $'from elsewhere\r'
    refused utf8 docs/bad.md 2 'ok' $'caf\xe9'
    refused todo dsl/bad.cpp 2 "$spdx" "// $to_do: later"
    refused todo dsl/bad.cpp 2 "$spdx" "// $to_do(some body): later"
    refused todo dsl/bad.cpp 2 "$spdx" "// $to_do"
    refused spdx dsl/bad.cpp 1 'int a;'
    refused spdx cmake/Bad.cmake 1 'set(a b)'
    mapfile -t long < <(seq -f '// %g' 600)
    refused length dsl/bad.cpp 601 "$spdx" "${long[@]}"
    refused allow allow.txt 1 'length runtime/src/good.cpp is short'
    refused allow allow.txt 1 'length gone.cpp is gone'
    refused allow allow.txt 1 'length runtime/src/good.cpp'
    clean_tree
    printf 'no newline' >"$sample/docs/bad.md"
    if bash "$folder/check_text.sh" "$sample" >/dev/null; then echo "self_test text: missing newline not caught"; exit 1; fi
    clean_tree
    write dsl/long.cpp "$spdx" "${long[@]}"
    write dsl/later.cpp "$spdx" "// $to_do(when two targets exist): share this."
    write allow.txt 'length dsl/long.cpp a table that is one idea'
    passes "an exception with a reason, a condition"
    ;;
  cmake)
    bad() { refused "$1" cmake/Bad.cmake 2 "$hash_spdx" "$2"; }
    bad cmake-case 'SET(a b)'
    bad cmake-case '  Add_Library(a b.cpp)'
    bad cmake-download 'include(FetchContent)'
    bad cmake-download 'ExternalProject_Add(a)'
    bad cmake-download 'file(DOWNLOAD a b)'
    bad cmake-directory 'include_directories(a)'
    bad cmake-directory '  link_libraries(a)'
    bad cmake-directory 'add_compile_options(-Wall)'
    bad cmake-native 'target_compile_options(a PRIVATE -march=native)'
    ;;
  scripts)
    refused script-syntax scripts/bad.sh 1 "$first_line" 'set -euo pipefail' 'if true; then'
    refused script-first-line scripts/bad.sh 1 '#!/bin/sh' 'set -euo pipefail'
    refused script-strict scripts/bad.sh 1 "$first_line" 'echo'
    refused script-strict .ci/run 1 "$first_line" 'echo'
    ! command -v shellcheck >/dev/null ||
      refused shellcheck scripts/bad.sh 3 "$first_line" 'set -euo pipefail' 'cd $undefined_name'
    ;;
  *)
    echo "self_test: unknown check '$check'"
    exit 2
    ;;
esac
echo "self_test $check: $cases cases"
