# SPDX-License-Identifier: Apache-2.0
# What differs between kernels of a device, not between variants: blocks skipped by positions and by tables, no softmax,
# transformed rows, 16 bits, few and unequal features.
library(core VARIANTS causal_window documents_causal sigmoid_attention PASSES prefill HEAD_DIMS 64)
library(half VARIANTS causal DTYPES f16 PASSES prefill HEAD_DIMS 64)
library(dims VARIANTS full PASSES prefill HEAD_DIMS 33/17)
# Of decode: the same, and outputs of rows with a sink.
library(decode VARIANTS documents_causal sink_causal PASSES decode HEAD_DIMS 64)
library(decode_half VARIANTS causal PASSES decode DTYPES f16 HEAD_DIMS 33/17)
# Of caches: elements of the call's type in both passes; numbers with scales; 8-bit floats and a window. And what is
# appended.
cache_library(cache VARIANTS causal CACHES same HEAD_DIMS 64)
cache_library(cache_bits VARIANTS causal DTYPES f16 PASSES decode CACHES int8 HEAD_DIMS 64)
cache_library(cache_window VARIANTS causal_window PASSES prefill CACHES e4m3 HEAD_DIMS 64)
