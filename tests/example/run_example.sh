#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds one of examples/ against an installed fovea, as its README tells a user to, and runs the example's own tests.
# Arguments: EXAMPLE, fovea's source tree, a build folder, the prefix fovea is installed to, the folder of Halide.
# Environment: CMAKE, CTEST and NINJA, the programs of the outer build; FOVEA_MODEL_DIR, a folder that already holds the
# model of sentence_embedding (nothing is installed then).
set -euo pipefail
[ $# -eq 5 ] || {
  echo "usage: run_example.sh EXAMPLE SOURCE BUILD PREFIX HALIDE_ROOT"
  exit 2
}
example=$1 source=$2 build=$3 prefix=$4 halide=$5
cmake=${CMAKE:-cmake}
folder=$source/examples/$example

options=()
if [ -f "$folder/get_model.sh" ]; then
  # Kept beside the other things that scripts install, so that every build tree uses the same copy.
  case $example in
    sentence_embedding) model=${FOVEA_MODEL_DIR:-} venv=$source/build/model ;; # quickstart.sh's as well
    *) model='' venv=$source/build/model_$example ;;
  esac
  model=${model:-$(bash "$folder/get_model.sh" "$venv")}
  [ -d "$model" ] || {
    echo "example $example: the model folder '$model' does not exist"
    exit 1
  }
  variable=$(sed -n 's/^set(\([A-Z_]*_MODEL_DIR\) .*/\1/p' "$folder/CMakeLists.txt")
  options+=(-D"$variable=$model")
fi

"$cmake" -G Ninja -S "$folder" -B "$build" -DCMAKE_MAKE_PROGRAM="${NINJA:-ninja}" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix" -DHalide_DIR="$halide/lib64/cmake/Halide" \
    -DCMAKE_DISABLE_FIND_PACKAGE_Halide_Python=ON "${options[@]}"
"$cmake" --build "$build" --parallel 2

rc=0
output=$("${CTEST:-ctest}" --test-dir "$build" --output-on-failure --no-tests=error 2>&1) || rc=$?
echo "$output"
# A skipped test of the example would be a hole that nobody sees from here.
if grep -q '(Skipped)' <<<"$output"; then
  echo "example $example: a test was skipped"
  rc=1
fi
exit "$rc"
