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
# ctest closes with the time per label and the tests that failed or were skipped; its own count reads differently from
# version to version, so the last line is made from its JUnit report.
rc=0
junit=$root/build/$preset/test-report.xml
rm -f "$junit"
ctest "${arguments[@]}" --output-junit "$junit" </dev/null || rc=$?
[ -s "$junit" ] || fail "ctest wrote no report (status $rc)"
count() { sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$junit" | head -n 1; }
tests=$(count tests) failures=$(count failures) skipped=$(($(count skipped) + $(count disabled)))
echo
echo "fovea: preset $preset, set-up and build included: $(total_time); report: ${junit#"$root"/}"
[ "$rc" -eq 0 ] || echo "fovea: ctest ended with status $rc; the output of failed tests is above"
echo "tests: $((tests - failures - skipped)) passed, $failures failed, $skipped skipped"
exit "$rc"
