#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A C++ compiler whose links go wrong: FOVEA_TEST_LINK is the library that takes the place of what it would link, or
# "fail". Everything else is done by c++.
set -euo pipefail
case " $* " in
  *" -shared "*) ;;
  *) exec c++ "$@" ;;
esac
case "${FOVEA_TEST_LINK:-}" in
  "") exec c++ "$@" ;;
  fail)
    echo "error: on purpose" >&2
    exit 1
    ;;
esac
while [ "$1" != "-o" ]; do shift; done
exec cp "$FOVEA_TEST_LINK" "$2"
