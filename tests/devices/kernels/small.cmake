# SPDX-License-Identifier: Apache-2.0
# What differs between kernels of a device, not between variants: blocks skipped by positions and by tables, no softmax,
# transformed rows, 16 bits, few and unequal features.
library(core VARIANTS causal_window documents_causal sigmoid_attention HEAD_DIMS 64)
library(half VARIANTS causal DTYPES f16 HEAD_DIMS 64)
library(dims VARIANTS full HEAD_DIMS 33/17)
