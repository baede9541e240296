# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention: full and causal attention, grouped heads too."""

from peer import Cannot, serve


class Sdpa:
    def __init__(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)
        self.arguments = self.result = None

    def prepare(self, case):
        import torch_arrays

        if case.variant not in ("full", "causal"):
            raise Cannot("has full and causal attention; other masks only as an array of every pair")
        # The only row of a decode step sees every key.
        causal = case.variant == "causal" and case.sq > 1
        if causal and case.sq != case.skv:
            raise Cannot("its is_causal lets the first query see the first key, not the last the last")
        self.result = None
        self.arguments = (
            torch_arrays.inputs(case),
            {"is_causal": causal, "scale": case.scale, "enable_gqa": case.hq != case.hkv},
        )
        return {"version": f"PyTorch {self.torch.__version__}", "notes": "is_causal" if causal else ""}

    def run(self):
        (q, k, v), options = self.arguments
        with self.torch.inference_mode():
            self.result = self.torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

    def output(self, case):
        import torch_arrays

        torch_arrays.write_output(case, self.result)


serve(Sdpa)
