#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and tests. Without arguments all tests run; arguments are CTest labels: bash scripts/test.sh style unit
# Environment: FOVEA_PRESET (ci) is the CMake preset; FOVEA_JOBS the number of parallel jobs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
# shellcheck source=scripts/steps.sh
. "$root/scripts/steps.sh"
preset=${FOVEA_PRESET:-ci}
jobs=${FOVEA_JOBS:-$(nproc)}

case "${1:-}" in
  -h | --help)
    sed -n '3,4s/^# //p' "$0"
    exit 0
    ;;
esac

bash "$root/scripts/setup.sh"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"

step "Configuring preset $preset" cmake --preset "$preset"
step "Building preset $preset with $jobs jobs" cmake --build --preset "$preset" --parallel "$jobs"

arguments=(--preset "$preset" --parallel "$jobs")
if [ $# -gt 0 ]; then
  # ctest itself would skip an unknown label in silence as long as another one matches.
  known=$(ctest --preset "$preset" --print-labels | sed -n 's/^  //p')
  for label in "$@"; do
    grep -qxF "$label" <<<"$known" || fail "no test has the label '$label'; known: $(tr '\n' ' ' <<<"$known")"
  done
  arguments+=(--label-regex "^($(IFS='|' && echo "$*"))\$")
fi
# Closing lines come from ctest: time per label, then the count of tests that passed.
rc=0
report=$root/build/$preset/test-report.txt
ctest "${arguments[@]}" </dev/null 2>&1 | tee "$report" || rc=$?
echo "fovea: tests took the times above; the whole run, set-up and build included, $(total_time)"
if [ "$rc" -ne 0 ]; then
  echo "fovea: tests failed in preset $preset (status $rc); the report is ${report#"$root"/}" >&2
  exit "$rc"
fi
