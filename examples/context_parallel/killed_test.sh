#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One rank of three is killed while keys travel: the run must end with an error, and soon.
# Arguments: HOW, mpirun, the program, a text. HOW is "launcher": mpirun notices and ends the others, or "deadline": it is
# told not to, and the others notice themselves that nothing comes any more.
set -euo pipefail
[ $# -eq 4 ] || {
  echo "usage: killed_test.sh HOW MPIRUN PROGRAM TEXT"
  exit 2
}
how=$1 mpirun=$2 program=$3 text=$4
limit=200 # seconds, of which a run that goes well takes a few on a slow machine

options=()
[ "$how" = launcher ] || options+=(--enable-recovery)
rc=0
output=$(timeout --kill-after=10 "$limit" "$mpirun" -n 3 "${options[@]}" "$program" "$text" --length 2000 --kill 1 \
  --deadline 10 2>&1 </dev/null) || rc=$?
echo "$output"
echo "mpirun: status $rc after $SECONDS s"

fail() {
  echo "killed.$how: $*"
  exit 1
}
[ "$SECONDS" -lt "$limit" ] || fail "the run did not end by itself"
if grep -q 'guessed' <<<"$output"; then fail "the run went on as if nothing had happened"; fi
case "$how" in
  launcher)
    [ "$rc" -ne 0 ] || fail "mpirun reports success"
    grep -q 'rank 1 .*on signal 9' <<<"$output" || fail "nobody says that rank 1 was killed"
    ;;
  # Which of the others is first to give up ends the rest; mpirun's own status is 0 when it is told to carry on.
  deadline)
    grep -qE '^rank [02]: keys from rank [12], step [123]: no answer for 10 seconds' <<<"$output" ||
      fail "no other rank noticed"
    ;;
  *) fail "HOW is launcher or deadline, not '$how'" ;;
esac
