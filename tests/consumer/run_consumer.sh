#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Uses fovea as other projects do, in real small projects of this folder.
# Arguments: KIND, fovea's source tree, its build tree, the prefix it is installed to (kind "install" fills it), the folder
# of Halide. Environment: CMAKE and NINJA, the programs of the outer build; CC, CXX, CFLAGS, CXXFLAGS as usual.
set -euo pipefail
[ $# -eq 5 ] || {
  echo "usage: run_consumer.sh KIND SOURCE BUILD PREFIX HALIDE_ROOT"
  exit 2
}
kind=$1 source=$2 build=$3 prefix=$4 halide=$5
cmake=${CMAKE:-cmake}
ninja=${NINJA:-ninja}
scratch=$build/consumer/$kind
projects=$source/tests/consumer
jobs=2

fail() {
  echo "consumer $kind: $*"
  exit 1
}

# configure PROJECT [PREFIX] [OPTION…]: a copy of the project, so that nothing is found by a path into fovea's tree.
configure() {
  local project=$1 package=$2
  shift 2
  rm -rf "$scratch"
  mkdir -p "$scratch"
  cp -r "$projects/$project" "$source/tests/consumer/shared" "$scratch/"
  "$cmake" -G Ninja -S "$scratch/$project" -B "$scratch/build" -DCMAKE_MAKE_PROGRAM="$ninja" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$package" -DHalide_DIR="$halide/lib64/cmake/Halide" \
    -DCMAKE_DISABLE_FIND_PACKAGE_Halide_Python=ON \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF "$@"
}

compile() { "$cmake" --build "$scratch/build" --parallel "$jobs" "$@"; }

# run PROGRAM: it succeeds, also for each target it may be told to use, and needs no Halide library.
run() {
  "$1" || fail "$1 failed with status $?"
  if ldd "$1" | grep -i halide; then fail "$1 needs Halide at run time"; fi
}

# A path of the build or of the source tree in an installed CMake file works only until that tree is gone.
no_foreign_paths() {
  local path
  for path in "${@:2}"; do
    if grep -rnF --include='*.cmake' -e "$path" "$1"; then fail "installed CMake files name $path"; fi
  done
}

install_to() {
  rm -rf "$1"
  "$cmake" --install "$build" --prefix "$1" >/dev/null
}

case "$kind" in
  install)
    install_to "$prefix"
    [ -f "$prefix/include/fovea/fovea.h" ] || fail "no include/fovea/fovea.h in the prefix"
    # The prefix may lie in the build tree, so only deeper folders of that tree are foreign.
    no_foreign_paths "$prefix" "$source/dsl" "$source/runtime" "$source/generators" "$source/cmake" "$build/dsl" "$build/generators"
    ;;
  find_package)
    configure application "$prefix"
    compile
    run "$scratch/build/application"
    for target in x86-sse41 x86-avx2; do
      if [ "$target" = x86-sse41 ] || grep -qw avx2 /proc/cpuinfo; then
        FOVEA_TARGET=$target "$scratch/build/application" || fail "application failed with FOVEA_TARGET=$target"
      fi
    done
    ;;
  moved_prefix)
    mkdir -p "$scratch"
    rm -rf "$build/consumer/before" "$build/consumer/after"
    install_to "$build/consumer/before"
    mv "$build/consumer/before" "$build/consumer/after"
    configure application "$build/consumer/after"
    compile
    no_foreign_paths "$build/consumer/after" "$build/consumer/before"
    run "$scratch/build/application"
    "$build/consumer/after/bin/fovea" list >/dev/null || fail "the moved fovea command failed"
    ;;
  add_subdirectory)
    # All of fovea is compiled once more, in a project that compiles several sources at a time; how well does not matter here.
    configure application "" -DFOVEA_SOURCE_DIR="$source" -DCMAKE_UNITY_BUILD=ON \
      -DCMAKE_C_FLAGS_RELEASE=-O0 -DCMAKE_CXX_FLAGS_RELEASE=-O0
    compile --target application
    run "$scratch/build/application"
    # Tests, benchmarks and install rules are for fovea on its own.
    for option in FOVEA_BUILD_TESTS FOVEA_BUILD_BENCH FOVEA_INSTALL; do
      grep -q "^$option:BOOL=OFF" "$scratch/build/CMakeCache.txt" || fail "$option is not OFF in a project that adds fovea"
    done
    ;;
  shared_library)
    configure shared_library "$prefix"
    compile
    run "$scratch/build/program"
    exported=$(nm -D --defined-only "$scratch/build/libmodel.so" | awk '{print $3}' | grep -iE 'fovea|halide|model_attention' || true)
    [ -z "$exported" ] || fail "the shared library exports more than its own interface: $exported"
    ;;
  two_libraries)
    configure two_libraries "$prefix"
    compile
    run "$scratch/build/program"
    ;;
  first_variant)
    # The project of docs/add-a-variant.md, as the page says it is built and run.
    projects=$source/docs/snippets
    configure first_variant "$prefix"
    compile
    "$scratch/build/my_attention_generator" show fading_memory >/dev/null || fail "the generator cannot show the variant"
    "$scratch/build/check" || fail "check failed with status $?"
    ;;
  cross_compile)
    # The project of docs/cross-compile.md: one configure, with this machine's package and another machine's compiler.
    command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null || {
      echo "consumer $kind: skipped, aarch64-linux-gnu-g++ or qemu-aarch64 is missing"
      exit 77
    }
    projects=$source/docs/snippets
    # As a shell of people who cross-compile may have them; the generator must not be built with these.
    CXX=aarch64-linux-gnu-g++ CXXFLAGS=-mcpu=cortex-a53 \
      configure cross_compile "$prefix" --toolchain "$prefix/lib/cmake/fovea/toolchains/aarch64-linux-gnu.cmake"
    compile
    file=$(LC_ALL=C readelf -h "$scratch/build/application" | grep Machine:)
    [[ $file == *AArch64* ]] || fail "the application is for $file"
    # On a CPU of the first Arm v8 as well.
    for cpu in max cortex-a53; do
      text=$(qemu-aarch64 -cpu $cpu -L /usr/aarch64-linux-gnu "$scratch/build/application") || fail "failed on $cpu: $text"
      [[ $text == "chosen: "*"__arm64_neon ("* ]] || fail "the application says on $cpu: $text"
    done
    compile | grep -q 'Building CXX' && fail "a second build of an unchanged tree compiles something"
    sed -i 's/q - p.k < window/q - p.k <= window/' "$scratch/cross_compile/variants.cpp"
    compile
    if qemu-aarch64 -L /usr/aarch64-linux-gnu "$scratch/build/application"; then fail "a changed declaration changes nothing"; fi
    sed -i 's/DTYPES .*/TARGETS x86-avx2/' "$scratch/cross_compile/CMakeLists.txt"
    if text=$(compile 2>&1); then fail "a target of another architecture is accepted"; fi
    [[ $text == *"target 'x86-avx2' is for x86: allowed are targets of one architecture, here arm64"* ]] ||
      fail "a target of another architecture is refused without the reason: $text"
    ;;
  new_project)
    # What `fovea new` writes, built and tested as it says.
    rm -rf "$scratch"
    mkdir -p "$scratch"
    "$prefix/bin/fovea" new my_first --out "$scratch/my_first"
    "$cmake" -G Ninja -S "$scratch/my_first" -B "$scratch/build" -DCMAKE_MAKE_PROGRAM="$ninja" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_PREFIX_PATH="$prefix" -DHalide_DIR="$halide/lib64/cmake/Halide" -DCMAKE_DISABLE_FIND_PACKAGE_Halide_Python=ON \
      -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
    compile
    "$cmake" --build "$scratch/build" --target test || fail "its test failed"
    "$cmake" --build "$scratch/build" --target help | grep -q '^bench:' || fail "it has no target bench"
    ;;
  plain_c)
    configure application "$prefix"
    compile --target my_attention
    library=$scratch/build/libmy_attention.a
    # Only what it is handed: the archive, its header, fovea.h.
    mkdir -p "$scratch/given/fovea"
    cp "$library" "$scratch/build/my_attention.fovea/include/my_attention.h" "$scratch/given/"
    cp "$prefix/include/fovea/"*.h "$scratch/given/fovea/"
    # shellcheck disable=SC2086  # CFLAGS are words
    "${CC:-gcc}" ${CFLAGS:-} -std=c99 -pedantic-errors -Wall -Wextra -Werror -O2 -I "$scratch/given" -I "$source/tests/consumer/shared" \
      "$source/tests/consumer/plain_c/main.c" -o "$scratch/program" "$scratch/given/libmy_attention.a" -lm -lpthread -ldl -lstdc++
    run "$scratch/program"
    # What an application can see of the archive: its own functions, fovea_*, and nothing it could collide with.
    foreign=$(nm --defined-only --extern-only "$library" 2>/dev/null | awk 'NF == 3 && $2 ~ /[A-TX-Z]/ {print $3}' |
      grep -vE '^(fovea_|my_attention_|_ZN5fovea|_ZNK5fovea)' | grep -vE '^_Z[A-Z]*.*5fovea' | sort -u || true)
    [ -z "$foreign" ] || fail "libmy_attention.a defines strong symbols outside its names: $foreign"
    ;;
  rebuild)
    configure rebuild "$prefix"
    compile
    objects=$scratch/build/my_attention.fovea/kernels
    # state NAME: modification time (to the nanosecond) and content of that variant's objects.
    state() { find "$objects" -name "fovea_prefill__$1__*.o" -printf '%f %T@ ' -exec sha256sum {} \; | sort; }
    contents() { find "$objects" -name "fovea_prefill__$1__*.o" -exec sha256sum {} \; | sort; }
    [ "$(contents kept | wc -l)" -eq 2 ] && [ "$(contents changed | wc -l)" -eq 2 ] ||
      fail "expected two objects per variant in $objects, found: $(ls "$objects")"
    compile | grep -q 'no work to do' || fail "a second build of an unchanged tree does something"

    kept=$(state kept) changed=$(state changed) changed_contents=$(contents changed)
    echo '// A remark changes no kernel.' >>"$scratch/rebuild/changed.cpp"
    compile
    [ "$(state kept)" = "$kept" ] && [ "$(state changed)" = "$changed" ] || fail "a comment in a declaration made kernels anew"
    compile | grep -q 'no work to do' || fail "after a change without effect every build does something"

    sed -i 's/< 16/< 17/' "$scratch/rebuild/changed.cpp"
    compile
    [ "$(state kept)" = "$kept" ] || fail "changing one variant made the kernels of the other one anew"
    [ "$(contents changed)" != "$changed_contents" ] || fail "the changed variant still has its old kernels"

    # An entry of the tuning file for one kernel: it alone is made anew, by that schedule.
    changed=$(state changed) kept_contents=$(contents kept)
    hash=$("$scratch/build/my_attention_generator" show kept --json | sed -n 's/^ *"hash": "\(.*\)",$/\1/p')
    sed "s/@HASH@/$hash/" "$scratch/rebuild/entry.jsonl.in" >"$scratch/rebuild/tuned.jsonl"
    compile
    [ "$(state changed)" = "$changed" ] || fail "an entry for another variant made kernels anew"
    [ "$(comm -13 <(echo "$kept_contents") <(contents kept) | sed 's|.*/||')" = fovea_prefill__kept__f32__d32__x86_sse41.o ] ||
      fail "an entry for one kernel changed others than that: before: $kept_contents, after: $(contents kept)"
    compile | grep -q 'no work to do' || fail "after a new tuning file every build does something"
    ;;
  *) fail "unknown kind" ;;
esac
echo "consumer $kind: passed"
