# SPDX-License-Identifier: Apache-2.0
"""PyTorch's FlexAttention, compiled, with block masks. Compiling and building the block mask are not timed but reported."""

import os
import time

from peer import Cannot, serve

# Compiles in this process: a pool of idle compilers has no place beside a measurement.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


def causal(b, h, q, k):
    return q >= k


def masks(case, parameter, torch):
    """variant -> (mask_mod, score_mod), either of them None. Parameters are bound when asked for."""

    def window():
        w = int(parameter("window"))
        return lambda b, h, q, k: (q >= k) & (q - k < w)

    def global_window():
        w, g = int(parameter("window")), int(parameter("global"))
        return lambda b, h, q, k: (q >= k) & ((q - k < w) | (k < g))

    def two_sided_window():
        left, right = int(parameter("left")), int(parameter("right"))
        return lambda b, h, q, k: (q - k <= left) & (k - q <= right)

    def documents():
        document = parameter("document")
        return lambda b, h, q, k: document[b, q] == document[b, k]

    def documents_causal():
        start = parameter("start")
        return lambda b, h, q, k: (q >= k) & (k >= start[b, q])

    def prefix_lm():
        prefix = parameter("prefix")
        return lambda b, h, q, k: (k < prefix[b]) | (q >= k)

    def slope():
        slopes = parameter("slope")
        return lambda s, b, h, q, k: s - slopes[h] * (q - k)

    def softcap():
        cap = float(parameter("softcap"))
        return lambda s, b, h, q, k: cap * torch.tanh(s / cap)

    def relative():
        bias = parameter("bias")
        last = bias.shape[1] - 1
        middle = last // 2
        return lambda s, b, h, q, k: s + bias[h, torch.clamp(k - q + middle, 0, last)]

    return {
        "full": lambda: (None, None),
        "causal": lambda: (causal, None),
        "causal_window": lambda: (window(), None),
        "global_window": lambda: (global_window(), None),
        "two_sided_window": lambda: (two_sided_window(), None),
        "documents": lambda: (documents(), None),
        "documents_causal": lambda: (documents_causal(), None),
        "prefix_lm": lambda: (prefix_lm(), None),
        "alibi_causal": lambda: (causal, slope()),
        "softcapped": lambda: (causal, softcap()),
        "softcapped_window": lambda: (window(), softcap()),
        "relative_table": lambda: (None, relative()),
    }.get(case.variant)


class Flex:
    def __init__(self, threads):
        import torch
        from torch.nn.attention import flex_attention

        self.torch, self.flex = torch, flex_attention
        torch.set_num_threads(threads)
        self.arguments = self.result = self.compiled = None

    def prepare(self, case):
        import torch_arrays

        torch = self.torch
        make = masks(case, lambda name: torch_arrays.parameter(case, name), torch)
        if make is None:
            raise Cannot("its mask_mod and score_mod are not written down for this variant (bench/peers/flex_worker.py)")
        if case.sq != case.skv:
            raise Cannot("written down for as many queries as keys")
        mask_mod, score_mod = make()
        self.result = None
        begin = time.perf_counter()
        block_mask = None
        if mask_mod is not None:
            by_batch = case.variant in ("documents", "documents_causal", "prefix_lm")
            block_mask = self.flex.create_block_mask(
                mask_mod, case.b if by_batch else None, None, case.sq, case.skv, device="cpu"
            )
        mask_s = time.perf_counter() - begin
        # Compiled anew: a shape or mask that only resembles an earlier one would get a more general kernel.
        torch._dynamo.reset()
        self.compiled = torch.compile(self.flex.flex_attention, dynamic=False)
        self.arguments = (
            torch_arrays.inputs(case),
            {
                "score_mod": score_mod,
                "block_mask": block_mask,
                "scale": case.scale,
                "enable_gqa": case.hq != case.hkv,
            },
        )
        begin = time.perf_counter()
        self.run()
        compile_s = time.perf_counter() - begin
        return {
            "version": f"PyTorch {torch.__version__}",
            "prepare_s": mask_s + compile_s,
            "notes": f"block mask {mask_s:.3f} s, compiling {compile_s:.1f} s",
        }

    def run(self):
        (q, k, v), options = self.arguments
        with self.torch.inference_mode():
            self.result = self.compiled(q, k, v, **options)

    def output(self, case):
        import torch_arrays

        torch_arrays.write_output(case, self.result)


serve(Flex)
