# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: announces steps, keeps their logs in build/logs and says which step failed, with the end of
# its log. Needs $root (the source tree).
# shellcheck shell=bash
: "${root:?is set by the script that sources this}"

# At most this many lines of a failed step's log are shown; the rest is in the file that the message names.
_steps_tail=40
_steps_begin=$(date +%s)

# _now: whole milliseconds. _seconds MS: the same as "12.3 s".
_now() { date +%s%3N; }
_seconds() { printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }

total_time() { printf '%d min %d s' $((($(date +%s) - _steps_begin) / 60)) $((($(date +%s) - _steps_begin) % 60)); }

fail() {
  echo "fovea: $*" >&2
  exit 1
}

# step TEXT COMMAND…: one line "TEXT … 12.3 s"; the command's output goes to a log; a failure ends the script.
step() {
  local text=$1 log begin rc=0
  shift
  mkdir -p "$root/build/logs"
  log=$root/build/logs/$(tr -cs 'A-Za-z0-9' '_' <<<"$text" | cut -c1-60).log
  printf '%s … ' "$text"
  begin=$(_now)
  "$@" >"$log" 2>&1 </dev/null || rc=$?
  if [ "$rc" -ne 0 ]; then
    echo "failed"
    echo "fovea: step '$text' failed with status $rc. Last lines of ${log#"$root"/}:" >&2
    tail -n "$_steps_tail" "$log" | sed 's/^/  | /' >&2
    exit "$rc"
  fi
  _seconds $(($(_now) - begin))
  echo
}

# show TEXT COMMAND…: the same for a step whose output people want to read.
show() {
  local text=$1 begin rc=0
  shift
  echo "$text:"
  begin=$(_now)
  "$@" </dev/null || rc=$?
  [ "$rc" -eq 0 ] || fail "step '$text' failed with status $rc (its output is above)"
  printf '%s took ' "$text"
  _seconds $(($(_now) - begin))
  echo
}
