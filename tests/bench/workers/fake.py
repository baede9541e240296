# SPDX-License-Identifier: Apache-2.0
"""Peers for tests: a slow but right attention without any package, and ways to go wrong."""

import math
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "peers"))

from peer import Cannot, serve  # noqa: E402


def _rows(case, offset, heads, rows, width):
    flat = struct.unpack_from(f"{case.b * heads * rows * width}f", case.memory, offset)
    return [flat[i * width : (i + 1) * width] for i in range(case.b * heads * rows)]


class Honest:
    """Full and causal attention in f32."""

    name = "honest"

    def __init__(self, threads):
        self.threads = threads
        self.case = self.result = None

    def prepare(self, case):
        if case.dtype != "f32" or case.variant not in ("full", "causal"):
            raise Cannot("full and causal in f32 only")
        self.case = case
        print("what a library prints does no harm", flush=True)
        return {"version": "fake 1.0", "notes": f"{self.threads} threads", "prepare_s": 0.25}

    def run(self):
        order = os.environ.get("FAKE_PEER_ORDER")
        if order:
            with open(order, "a", encoding="utf-8") as out:
                out.write(self.name + "\n")
        c = self.case
        q = _rows(c, c.q, c.hq, c.sq, c.d_qk)
        k = _rows(c, c.k, c.hkv, c.skv, c.d_qk)
        v = _rows(c, c.v, c.hkv, c.skv, c.d_v)
        self.result = []
        for row, query in enumerate(q):
            head, i = divmod(row, c.sq)
            b, h = divmod(head, c.hq)
            first = (b * c.hkv + h // (c.hq // c.hkv)) * c.skv
            keys = i + 1 + c.skv - c.sq if c.variant == "causal" else c.skv
            scores = [c.scale * math.fsum(x * y for x, y in zip(query, k[first + j])) for j in range(keys)]
            weights = [math.exp(s - max(scores)) for s in scores]
            total = math.fsum(weights)
            for d in range(c.d_v):
                self.result.append(math.fsum(w * v[first + j][d] for j, w in enumerate(weights)) / total)

    def output(self, case):
        struct.pack_into(f"{len(self.result)}f", case.memory, case.out, *self.result)
