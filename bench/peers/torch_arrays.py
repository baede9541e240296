# SPDX-License-Identifier: Apache-2.0
"""Arrays of a case as PyTorch tensors."""

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "u8": torch.uint8}


def _view(case, dtype, offset, shape):
    count = 1
    for extent in shape:
        count *= extent
    return torch.frombuffer(case.memory, dtype=DTYPES[dtype], count=count, offset=offset).reshape(shape)


def inputs(case):
    """q, k, v in memory of PyTorch's own."""
    q = _view(case, case.dtype, case.q, (case.b, case.hq, case.sq, case.d_qk)).clone()
    k = _view(case, case.dtype, case.k, (case.b, case.hkv, case.skv, case.d_qk)).clone()
    v = _view(case, case.dtype, case.v, (case.b, case.hkv, case.skv, case.d_v)).clone()
    return q, k, v


def parameter(case, name):
    """The number of a scalar, a tensor of a table."""
    value = case.parameters[name]
    if isinstance(value, dict):
        return _view(case, value["dtype"], value["offset"], value["extent"]).clone()
    return value


def write_output(case, out):
    _view(case, case.dtype, case.out, (case.b, case.hq, case.sq, case.d_v)).copy_(out)
