# SPDX-License-Identifier: Apache-2.0
# Every type, pass and kind of cache, few variants: what differs between targets, not between variants.
library(prefill core VARIANTS full causal_window alibi_causal rope_half PASSES prefill HEAD_DIMS 64)
library(prefill half VARIANTS full causal DTYPES f16 bf16 PASSES prefill HEAD_DIMS 64)
library(prefill dims VARIANTS full PASSES prefill HEAD_DIMS 5 33/17 128)
library(decode core VARIANTS full causal_window sink_causal PASSES decode HEAD_DIMS 64)
library(decode half VARIANTS causal DTYPES f16 bf16 PASSES decode HEAD_DIMS 64)
library(decode dims VARIANTS full PASSES decode HEAD_DIMS 5 33/17)
library(cache core VARIANTS causal CACHES same int8 e4m3 HEAD_DIMS 64)
library(cache transformed VARIANTS rope_half DTYPES f16 CACHES same HEAD_DIMS 64)
