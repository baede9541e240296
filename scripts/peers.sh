#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what `fovea bench` compares with into build/peers, an environment of its own: bash scripts/peers.sh [PART…]
# Parts: torch (scaled_dot_product_attention and FlexAttention; 4.5 GB on disk), onnxruntime, ggml (compiled from source for
# this machine, about two minutes). Without arguments all of them. Safe to repeat. Run scripts/setup.sh first.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/steps.sh
. "$root/scripts/steps.sh"
peers=$root/build/peers
requirements=$root/scripts/peers-requirements.txt

case "${1:-}" in
  -h | --help)
    sed -n '3,5s/^# //p' "$0"
    exit 0
    ;;
esac
parts=("$@")
[ $# -gt 0 ] || parts=(torch onnxruntime ggml)
for part in "${parts[@]}"; do
  grep -qx "# part: $part" "$requirements" && [ "$part" != base ] ||
    fail "unknown part '$part'; there are torch, onnxruntime and ggml"
done
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"

packages_of() { sed -n "/^# part: $1\$/,/^# part:/{/^#/d;p;}" "$requirements"; }

pip() { "$peers/bin/python" -m pip "$@"; }

install_part() {
  packages_of "$1" >"$peers/requirements-$1.txt"
  pip install --disable-pip-version-check --no-deps --retries 5 --timeout 60 --requirement "$peers/requirements-$1.txt"
}

# The CPU part of ggml alone, with this machine's instructions, as llama.cpp builds it by default.
build_ggml() {
  local source=$peers/src/ggml-source build=$peers/src/ggml-build archive
  rm -rf "$peers/src"
  mkdir -p "$source" "$peers/lib/ggml"
  pip download --disable-pip-version-check --no-deps --no-binary llama-cpp-python --retries 5 --timeout 60 \
    --dest "$peers/src" "$(packages_of ggml)"
  archive=$(compgen -G "$peers/src/*.tar.gz")
  tar -xzf "$archive" -C "$source" --strip-components=4 --wildcards '*/vendor/llama.cpp/ggml'
  # The source distribution lacks this template of a file that is not used here.
  [ -f "$source/ggml.pc.in" ] || : >"$source/ggml.pc.in"
  # shellcheck disable=SC2016  # $ORIGIN is for the loader
  cmake -G Ninja -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=ON \
    -DGGML_OPENMP=OFF -DGGML_BUILD_TESTS=OFF -DGGML_BUILD_EXAMPLES=OFF \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN'
  cmake --build "$build" --target ggml-cpu --parallel "${FOVEA_JOBS:-$(nproc)}"
  cp -P "$build"/src/libggml-base.so* "$build"/src/libggml-cpu.so* "$peers/lib/ggml/"
  packages_of ggml >"$peers/lib/ggml/built-from"
  rm -rf "$peers/src"
}
ggml_is_there() { [ "$(cat "$peers/lib/ggml/built-from" 2>/dev/null)" = "$(packages_of ggml)" ]; }

if ! "$peers/bin/python" -c 'import pip' >/dev/null 2>&1; then
  # Not the Python of build/venv, which would come first after sourcing env.sh.
  python=${FOVEA_PYTHON:-$(PATH=${PATH//"$root/build/venv/bin:"/} command -v python3)}
  step "Creating build/peers with $python" "$python" -m venv --clear "$peers"
fi
step "Installing numpy" install_part base
for part in "${parts[@]}"; do
  if [ "$part" = ggml ]; then
    ggml_is_there || step "Building ggml for this machine" build_ggml
  else
    step "Installing $part" install_part "$part"
  fi
done
echo "Done in $(total_time). build/<preset>/bin/fovea bench finds them."
