#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what fovea needs to build and test: Debian packages that are missing, and Halide, CMake and Ninja in the private
# virtual environment build/venv. Safe to repeat; does nothing, in well under a second, when everything is there.
# FOVEA_PYTHON names the Python to use (3.9 to 3.13, the versions that the Halide wheel is made for); FOVEA_SKIP_APT=1 leaves
# the Debian packages alone.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/steps.sh
. "$root/scripts/steps.sh"

# Compiler and base; libraries of tools, tests and examples; LLVM's tools, run as child processes; memory checker.
packages=(
  g++ gcc binutils git ca-certificates python3 python3-venv
  libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev libopenblas-dev libicu-dev libpng-dev
  libopenmpi-dev openmpi-bin libpango1.0-dev pkg-config fonts-dejavu-core
  llvm-19 llvm-19-tools clang-format-19 clang-tidy-19 shellcheck
  g++-aarch64-linux-gnu qemu-user googletest # Arm: cross compiler, emulator, and GoogleTest as sources for it
  pocl-opencl-icd ocl-icd-libopencl1 # OpenCL on the CPU, for the tests of device kernels
  oclgrind # OpenCL in an interpreter that tells of data races
  chromium # shows pages of reports in a test
  valgrind libc6-dbg # memcheck cannot start on Debian without the symbols of libc6-dbg
)
# A link shares the environment of another tree: it is filled there, and never made anew through the link.
venv=$root/build/venv
[ ! -L "$venv" ] || venv=$(readlink -f "$venv")
requirements=$root/scripts/requirements.txt

missing_packages() {
  # One call for all of them. dpkg-query says nothing, or "not installed", for a package that is absent.
  local installed
  # shellcheck disable=SC2016  # ${…} is dpkg-query's own syntax
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/^ii *\([^: ]*\).*/\1/p')
  comm -23 <(printf '%s\n' "${packages[@]}" | sort -u) <(printf '%s\n' "$installed" | sort -u) | tr '\n' ' '
}

install_packages() {
  local missing admin=()
  command -v dpkg-query >/dev/null ||
    fail "this is not a Debian system; install the equivalents of: ${packages[*]}, then set FOVEA_SKIP_APT=1"
  missing=$(missing_packages)
  [ -n "${missing// /}" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "packages are missing and neither root nor sudo is available: $missing"
    admin=(sudo)
  fi
  step "Refreshing the package index" "${admin[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update
  # shellcheck disable=SC2086  # a list of words
  step "Installing packages: ${missing% }" "${admin[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing
  missing=$(missing_packages)
  [ -z "${missing// /}" ] || fail "still missing after installation: $missing"
}

python_fits() {
  "$1" -c 'import ensurepip, platform, sys, venv
sys.exit(not ((3, 9) <= sys.version_info[:2] <= (3, 13) and platform.python_implementation() == "CPython"))' \
    >/dev/null 2>&1
}

choose_python() {
  local name
  # After sourcing env.sh the environment's own python3 comes first; it cannot make itself anew.
  PATH=${PATH//"$venv/bin:"/}
  if [ -n "${FOVEA_PYTHON:-}" ]; then
    python_fits "$FOVEA_PYTHON" || fail "FOVEA_PYTHON=$FOVEA_PYTHON is not a CPython 3.9 to 3.13 with venv and ensurepip"
    python=$FOVEA_PYTHON
    return 0
  fi
  # What is first on PATH may be a version manager's choice; the system's own comes next, then other versions.
  for name in python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
    if command -v "$name" >/dev/null && python_fits "$name"; then
      python=$(command -v "$name")
      return 0
    fi
  done
  fail "no CPython 3.9 to 3.13 with venv and ensurepip found (the Halide wheel needs one); install python3-venv or set FOVEA_PYTHON"
}

venv_complete() {
  compgen -G "$venv/lib/python3.*/site-packages/halide/lib64/cmake/Halide/HalideConfig.cmake" >/dev/null &&
    [ -x "$venv/bin/cmake" ] && [ -x "$venv/bin/ninja" ]
}

fill_venv() {
  local python wanted
  # The stamp also holds the path: a virtual environment does not survive a move.
  wanted="$venv $(sha256sum <"$requirements")"
  if [ -f "$venv/.fovea-stamp" ] && [ "$(<"$venv/.fovea-stamp")" = "$wanted" ] && venv_complete; then
    return 0
  fi
  [ "$(uname -m)" = x86_64 ] || fail "the Halide wheel exists for x86-64 Linux only; this is $(uname -m)"
  if ! grep -qs "^command = .* $venv\$" "$venv/pyvenv.cfg" || ! "$venv/bin/python" -c 'import pip' >/dev/null 2>&1; then
    choose_python
    step "Creating build/venv with $python ($("$python" -V))" "$python" -m venv --clear "$venv"
  fi
  # A slow mirror is not a missing one: a few retries, and a long time-out.
  step "Installing Halide, CMake and Ninja into build/venv" "$venv/bin/python" -m pip install --disable-pip-version-check \
    --no-deps --retries 5 --timeout 60 --requirement "$requirements"
  venv_complete || fail "build/venv is incomplete after installation: Halide's CMake package, cmake or ninja is missing"
  printf '%s' "$wanted" >"$venv/.fovea-stamp"
}

mkdir -p "$root/build"
# Two set-ups at once would write the same environment; the second waits and then finds it complete.
exec 9>"$root/build/.setup.lock"
flock 9
[ -n "${FOVEA_SKIP_APT:-}" ] || install_packages
fill_venv
