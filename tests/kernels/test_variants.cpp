// test_variants.cpp: variants that no application needs, one for each way of saying something.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;
using Halide::exp;
using Halide::log;
using Halide::pow;

// Tables: fixed extents, positions, heads, any extent, all four axes.

FOVEA_VARIANT(test_bucket_bias, v) {
  auto bias = v.table<float>("bias", {axis::head, 32});
  v.score([=](Expr s, Position p) { return s + bias(p.head, (p.q - p.k) / 3); });
  v.returns(lse);
}

FOVEA_VARIANT(test_key_bias, v) {
  auto bias = v.table<float>("bias", {axis::key});
  auto visible = v.table<int>("visible", {axis::key});
  v.score([=](Expr s, Position p) { return s + bias(p.k); });
  v.keep([=](Position p) { return visible(p.k) != 0; });
  v.returns(lse);
}

// Indices reach past both ends of the table and are clamped.
FOVEA_VARIANT(test_any_table, v) {
  auto bias = v.table<float>("bias", {axis::any});
  auto reach = v.table<int>("reach", {axis::any});
  v.score([=](Expr s, Position p) { return s * bias(p.k - p.q + 5); });
  v.keep([=](Position p) { return p.k <= p.q + reach(p.q / 3); });
}

FOVEA_VARIANT(test_full_bias, v) {
  auto bias = v.table<float>("bias", {axis::batch, axis::head, axis::query, axis::key});
  v.score([=](Expr s, Position p) { return s + bias(p.batch, p.head, p.q, p.k); });
  v.returns(lse);
}

FOVEA_VARIANT(test_dense_mask, v) {
  auto keep = v.table<int>("keep", {axis::query, axis::key});
  v.keep([=](Position p) { return keep(p.q, p.k) % 2 == 1; });
  v.returns(lse);
}

FOVEA_VARIANT(test_documents, v) {
  auto query_document = v.table<int>("query_document", {axis::batch, axis::query});
  auto key_document = v.table<int>("key_document", {axis::batch, axis::key});
  v.keep([=](Position p) {
    return query_document(p.batch, p.q) % 3 == key_document(p.batch, p.k) % 3;
  });
  v.returns(lse);
}

FOVEA_VARIANT(test_kv_head_factor, v) {
  auto factor = v.table<float>("factor", {axis::kv_head});
  v.score([=](Expr s, Position p) { return s * factor(p.kv_head); });
  v.keep(masks::causal());
}

// Scalars, with names that the kernel uses for its own arguments.

FOVEA_VARIANT(test_two_steps, v) {
  auto scale = v.scalar<float>("scale").between(-2.0f, 2.0f);
  auto q_block = v.scalar<int>("q_block").between(-7, 9);
  v.score([=](Expr s, Position) { return s * scale; });
  v.score([=](Expr s, Position p) { return s + 0.25f * cast<float>((p.k + q_block) % 5); });
  v.keep(masks::causal());
  v.returns(lse);
}

// A number added to all scores.
FOVEA_VARIANT(test_shift, v) {
  auto shift = v.scalar<float>("shift");
  v.score([=](Expr s, Position) { return s + shift; });
  v.keep(masks::causal());
  v.returns(lse);
}

FOVEA_VARIANT(test_radius, v) {
  auto radius = v.scalar<float>("radius").at_least(-2.0f);
  v.keep([=](Position p) { return abs(cast<float>(p.q - p.k)) <= radius; });
  v.returns(lse);
}

// Masks: every maker and operator, and everything a position holds.

FOVEA_VARIANT(test_two_sided, v) {
  auto left = v.scalar<int>("left");
  auto right = v.scalar<int>("right");
  v.keep(masks::window(left, right));
  v.returns(lse);
}

FOVEA_VARIANT(test_chunked, v) {
  auto length = v.scalar<int>("length").at_least(1);
  v.keep(masks::causal());
  v.keep(masks::chunked(length));
}

FOVEA_VARIANT(test_future_or_prefix, v) {
  auto prefix = v.scalar<int>("prefix").at_least(0);
  v.keep((!masks::causal()) | masks::first_tokens(prefix));
  v.returns(lse);
}

FOVEA_VARIANT(test_every_position, v) {
  v.score([=](Expr s, Position p) {
    return s + cast<float>(p.batch - p.head) * 0.125f + cast<float>(p.k) / cast<float>(p.kv_len);
  });
  v.keep([=](Position p) { return (p.k + p.head) % (p.kv_head + 2) != 0 || p.k == p.kv_len - 1; });
  v.keep([=](Position p) { return p.k >= p.batch && p.k + p.q_len % 4 < p.kv_len + 3; });
  v.returns(lse);
}

FOVEA_VARIANT(test_nothing_visible, v) {
  v.keep([=](Position p) { return p.k < 0; });
  v.returns(lse);
}

// Functions in a score; each bounded, so that the score's own rounding is not blown up.
FOVEA_VARIANT(test_functions, v) {
  v.score([=](Expr s, Position) { return max(min(s, 3.0f), -3.0f) + clamp(s, -1.0f, 1.0f); });
  v.score([=](Expr s, Position) { return log(1.0f + exp(s)) - 0.5f * pow(1.0f + abs(s), 0.75f); });
  v.score([=](Expr s, Position p) {
    return select(p.k % 2 == 0, s, sqrt(abs(s) + 1.0f) + tanh(s) + sin(s) * 0.5f);
  });
  v.returns(lse);
}
