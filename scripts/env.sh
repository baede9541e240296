# SPDX-License-Identifier: Apache-2.0
# Source this in a bash session or script: puts the private CMake and Ninja first on PATH and exports FOVEA_HALIDE_ROOT,
# which CMakePresets.json reads. Returns non-zero, with the reason, before scripts/setup.sh has run.
# shellcheck shell=bash
_fovea_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The folder between lib and halide carries the Python version, which differs between machines.
_fovea_halide=$(compgen -G "$_fovea_root/build/venv/lib/python3.*/site-packages/halide" | head -n 1)
if [ -z "$_fovea_halide" ] || [ ! -x "$_fovea_root/build/venv/bin/cmake" ]; then
  echo "fovea: build/venv is missing or incomplete; run: bash scripts/setup.sh" >&2
  unset _fovea_root _fovea_halide
  # shellcheck disable=SC2317  # exit is reached when the file is executed instead of sourced
  return 1 2>/dev/null || exit 1
fi
case ":$PATH:" in
  *":$_fovea_root/build/venv/bin:"*) ;;
  *) PATH="$_fovea_root/build/venv/bin:$PATH" ;;
esac
FOVEA_HALIDE_ROOT=$_fovea_halide
export PATH FOVEA_HALIDE_ROOT
unset _fovea_root _fovea_halide
