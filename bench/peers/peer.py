# SPDX-License-Identifier: Apache-2.0
"""What all peer workers share: the conversation with `fovea bench`, and the timing.

A worker is started as `python NAME_worker.py THREADS`. It reads requests from descriptor 3, one JSON object a line, and
answers each with one line there; what it or its libraries print does no harm. Descriptor 4 is the memory shared with
`fovea bench`: dense [batch, head, row, feature] arrays.

  {"op": "case", "variant": …, "dtype": …, "b": …, "hq": …, …, "q": offset, …}
      -> {"version": …, "notes": …, "prepare_s": …} or {"cannot": reason}
  {"op": "run", "calls": n, "warm_up": bool, "flush_bytes": n}  -> {"seconds": of the calls together}
  {"op": "output"}    copies the last result to the array at "out"  -> {"done": true}

A peer is an object with prepare(case), run() and output(case). prepare() copies the inputs into memory of the library's
own, in the layout that suits it best; none of that is timed. It returns version, notes and, where something was compiled
or built beforehand, prepare_s; or raises Cannot.
"""

import gc
import json
import mmap
import os
import sys
import time


class Cannot(Exception):
    """The peer does not compute this problem; the text says why."""


class Case:
    """A problem as the request describes it; memory is the mapped file."""

    def __init__(self, request, memory):
        self.__dict__.update(request)
        self.memory = memory


def _flush(flush_bytes, buffers):
    # memchr reads all of it, looking for a byte that is not there.
    if flush_bytes not in buffers:
        buffers[flush_bytes] = bytearray(b"\x01") * flush_bytes
    buffers[flush_bytes].find(b"\x02")


def _timed(run, calls, warm_up, flush_bytes, buffers):
    if warm_up:
        run()
    gc.disable()
    try:
        if not flush_bytes:
            begin = time.perf_counter()
            for _ in range(calls):
                run()
            return time.perf_counter() - begin
        seconds = 0.0
        for _ in range(calls):
            _flush(flush_bytes, buffers)
            begin = time.perf_counter()
            run()
            seconds += time.perf_counter() - begin
        return seconds
    finally:
        gc.enable()


def serve(make_peer):
    """Answers requests until the other side closes. make_peer(threads) loads the library; it is called for the first
    case, so that a library that is not installed is an answer and not a crash."""
    threads = int(sys.argv[1])
    requests = os.fdopen(3, "rb")
    answers = os.fdopen(os.dup(3), "wb")
    peer, case, buffers, missing = None, None, {}, None

    def answer_to(request):
        nonlocal peer, case, missing
        if request["op"] == "case":
            # Some libraries cannot be imported a second time, with another message.
            if missing is None and peer is None:
                try:
                    peer = make_peer(threads)
                except ImportError as error:
                    missing = Cannot(f"not installed: {error}")
            if missing is not None:
                raise missing
            case = Case(request, mmap.mmap(4, request["size"]))
            return peer.prepare(case)
        if request["op"] == "run":
            return {
                "seconds": _timed(peer.run, request["calls"], request["warm_up"], request["flush_bytes"], buffers)
            }
        peer.output(case)
        return {"done": True}

    for line in requests:
        try:
            answer = answer_to(json.loads(line))
        except Cannot as reason:
            answer = {"cannot": str(reason)}
        except Exception as failure:  # pylint: disable=broad-except
            # Whatever a library throws, the other side wants one line of it.
            words = str(failure).strip().splitlines() or [""]
            answer = {"failed": f"{type(failure).__name__}: {words[0]}"[:300]}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
