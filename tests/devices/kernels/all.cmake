# SPDX-License-Identifier: Apache-2.0
# What tests/kernels has of prefill for x86: every variant, all kinds of head sizes that fit into shared memory.
set(catalogue ${FOVEA_CATALOGUE_SOURCES})
list(FILTER catalogue EXCLUDE REGEX "/presets/")
set(test_variants ${kernels}/test_variants.cpp ${kernels}/piece_variants.cpp ${kernels}/bank/variants.cpp)
library(catalogue VARIANTS ${catalogue} HEAD_DIMS 64)
library(tests VARIANTS ${test_variants} HEAD_DIMS 64)
library(dims VARIANTS full causal HEAD_DIMS 1 2/3 5 8 16 33/17 40/24 80 96 128 192/128 256)
library(slices VARIANTS ${kernels}/slice_variants.cpp HEAD_DIMS 6/5 48 96/64)
library(half VARIANTS ${FOVEA_CORE_SOURCES} DTYPES f16 bf16 HEAD_DIMS 64)
