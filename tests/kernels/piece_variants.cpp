// piece_variants.cpp: variants that no application needs, one for each way of saying something
// about rows, weights, sinks and outputs, and a few that say much at once.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;
using Halide::sqrt;

namespace {

// Root mean square norm of a row.
Expr normalised(const Row& row, Expr d) { return row(d) / sqrt(row.mean_square() + 1e-5f); }

// Pairs of features, half a row apart, turned by the angle of a position.
Expr rotated(const Row& row, Expr d, const Table<float>& angle, Expr position) {
  const Expr half = row.size() / 2;
  const Expr is_first = d < half;
  const Expr a = angle(position, d % half);
  return row(d) * cos(a) +
         select(is_first, -1.0f, 1.0f) * row(select(is_first, d + half, d - half)) * sin(a);
}

}  // namespace

// Query and key rows.

FOVEA_VARIANT(test_query_gain, v) {
  auto gain = v.table<float>("gain", {axis::feature});
  v.query([=](const Row& row, Expr d, const Position&) { return row(d) * gain(d); });
  v.returns(lse);
}

FOVEA_VARIANT(test_query_largest, v) {
  v.query([](const Row& row, Expr d, const Position&) {
    return row(d) / (1.0f + row.largest([&](Expr j) { return abs(row(j)); }));
  });
  v.keep(masks::causal());
  v.returns(lse);
}

FOVEA_VARIANT(test_query_by_place, v) {
  auto gain = v.table<float>("gain", {axis::batch, axis::head, axis::row});
  v.query([=](const Row& row, Expr d, const Position& p) {
    return row(d) * gain(p.batch, p.head, p.row) + 0.01f * cast<float>(p.q % 7);
  });
  v.keep(masks::causal());
  v.returns(lse);
}

FOVEA_VARIANT(test_key_norm, v) {
  auto gain = v.table<float>("gain", {axis::feature});
  v.key([=](const Row& row, Expr d, const Position&) { return normalised(row, d) * gain(d); });
  v.returns(lse);
}

FOVEA_VARIANT(test_key_embedding, v) {
  auto embedding = v.table<float>("embedding", {axis::key, axis::feature});
  v.key([=](const Row& row, Expr d, const Position& p) { return row(d) + embedding(p.k, d); });
  v.keep(masks::causal());
  v.returns(lse);
}

// Reads past both ends of the row are clamped.
FOVEA_VARIANT(test_neighbouring_features, v) {
  v.query([](const Row& row, Expr d, const Position&) { return row(d - 1) - 0.5f * row(d + 2); });
  v.key([](const Row& row, Expr d, const Position&) { return row(row.size() - 1 - d); });
  v.value([](const Row& row, Expr d, const Position&) { return row(d) + 0.5f * row(d + 1); });
  v.output([](const Row& row, Expr d, const Position&) { return row(d) - 0.25f * row(d - 3); });
  v.returns(lse);
}

FOVEA_VARIANT(test_rotation, v) {
  auto angle = v.table<float>("angle", {axis::position, axis::any});
  v.query([=](const Row& row, Expr d, const Position& p) { return rotated(row, d, angle, p.q); });
  v.key([=](const Row& row, Expr d, const Position& p) { return rotated(row, d, angle, p.k); });
  v.keep(masks::causal());
  v.returns(lse);
}

// Value and output rows.

FOVEA_VARIANT(test_value_scale, v) {
  auto scale = v.table<float>("scale", {axis::kv_head, axis::value_feature});
  auto of_key = v.table<float>("of_key", {axis::key});
  v.value([=](const Row& row, Expr d, const Position& p) {
    return row(d) * scale(p.kv_head, d) * of_key(p.k);
  });
  v.keep(masks::causal());
  v.returns(lse);
}

FOVEA_VARIANT(test_value_norm, v) {
  v.value([](const Row& row, Expr d, const Position&) { return normalised(row, d); });
  v.returns(lse);
}

FOVEA_VARIANT(test_output_gate, v) {
  auto gate = v.table<float>("gate", {axis::batch, axis::head, axis::row, axis::value_feature});
  v.output([=](const Row& row, Expr d, const Position& p) {
    return row(d) * sigmoid(gate(p.batch, p.head, p.row, d));
  });
  v.keep(masks::causal());
  v.returns(lse);
}

FOVEA_VARIANT(test_output_sum, v) {
  v.output([](const Row& row, Expr d, const Position& p) {
    const Expr sum = row.sum([&](Expr j) { return abs(row(j)); });
    return row(d) / (1.0f + sum) + 0.125f * cast<float>(p.row % 3);
  });
  v.keep(masks::causal());
  v.returns(lse);
}

// Two of each kind; each sees the rows that the one before made.
FOVEA_VARIANT(test_chains, v) {
  auto angle = v.table<float>("angle", {axis::position, axis::any});
  auto gain = v.table<float>("gain", {axis::feature});
  v.query([=](const Row& row, Expr d, const Position&) { return normalised(row, d) * gain(d); });
  v.query([=](const Row& row, Expr d, const Position& p) { return rotated(row, d, angle, p.q); });
  v.key([=](const Row& row, Expr d, const Position&) { return normalised(row, d) * gain(d); });
  v.key([=](const Row& row, Expr d, const Position& p) { return rotated(row, d, angle, p.k); });
  v.value([](const Row& row, Expr d, const Position&) { return row(d) + row(d + 1); });
  v.value([](const Row& row, Expr d, const Position&) { return normalised(row, d); });
  v.output([](const Row& row, Expr d, const Position&) { return normalised(row, d); });
  v.output(
      [](const Row& row, Expr d, const Position&) { return row(d) * (1.0f + row.mean_square()); });
  v.keep(masks::causal());
  v.returns(lse);
}

// Sinks.

FOVEA_VARIANT(test_sink_head, v) {
  auto sink = v.table<float>("sink", {axis::head});
  v.normalize(softmax().sink(sink));
  v.returns(lse);
}

FOVEA_VARIANT(test_sink_constant, v) {
  v.keep(masks::causal());
  v.normalize(softmax().sink([](const Position&) { return Expr(0.5f); }));
  v.returns(lse);
}

FOVEA_VARIANT(test_sink_position, v) {
  auto slope = v.scalar<float>("slope").between(-0.1f, 0.1f);
  v.keep(masks::causal());
  v.normalize(softmax().sink([=](const Position& p) {
    return slope * cast<float>(p.q) + 0.5f * cast<float>(p.head - p.row % 2);
  }));
  v.returns(lse);
}

FOVEA_VARIANT(test_sink_mask, v) {
  auto sink = v.table<float>("sink", {axis::head});
  auto visible = v.table<bool>("visible", {axis::batch, axis::key});
  v.keep([=](const Position& p) { return visible(p.batch, p.k); });
  v.normalize(softmax().sink(sink));
  v.returns(lse);
}

// Weights that are no softmax.

FOVEA_VARIANT(test_weights_sigmoid, v) {
  auto bias = v.scalar<float>("bias").between(-3.0f, 0.0f);
  v.score([=](Expr s, const Position&) { return s + bias; });
  v.keep(masks::causal());
  v.normalize(sigmoid());
}

FOVEA_VARIANT(test_weights_relu, v) { v.normalize(relu()); }

FOVEA_VARIANT(test_weights_identity, v) {
  v.keep(masks::causal());
  v.normalize(identity());
}

FOVEA_VARIANT(test_weights_divided, v) {
  v.keep(masks::causal());
  v.normalize(weights([](Expr s, const Position&) {
                return s * s;
              }).divided_by([](Expr sum, const Position&) { return sum + 0.5f; }));
  v.returns(row_sum);
}

FOVEA_VARIANT(test_weights_by_length, v) {
  v.normalize(relu().divided_by([](Expr, const Position& p) { return cast<float>(p.kv_len); }));
}

FOVEA_VARIANT(test_weights_by_place, v) {
  auto decay = v.table<float>("decay", {axis::head});
  v.keep(masks::last_tokens(40));
  v.normalize(weights([=](Expr s, const Position& p) {
                return s * decay(p.head) + 0.01f * cast<float>((p.q - p.k) % 5);
              }).divided_by([](Expr sum, const Position& p) {
    return 1.0f + abs(sum) + cast<float>(p.row % 2);
  }));
}

FOVEA_VARIANT(test_weight_factor, v) {
  auto rate = v.scalar<float>("rate").between(0.0f, 2.0f);
  v.keep(masks::causal());
  v.weight_factor([=](const Position& p) {
    return select((p.q * 31 + p.k * 17 + p.head) % 5 == 0, 0.0f, rate);
  });
  v.returns(lse);
}

FOVEA_VARIANT(test_weight_factor_table, v) {
  auto factor = v.table<float>("factor", {axis::batch, axis::head, axis::row, axis::key});
  v.weight_factor([=](const Position& p) { return factor(p.batch, p.head, p.row, p.k); });
  v.normalize(sigmoid());
}

FOVEA_VARIANT(test_two_slices, v) {
  auto lambda = v.table<float>("lambda", {axis::head});
  v.keep(masks::causal());
  v.slices(2, [=](const std::vector<Expr>& o, const Position& p) {
    return o[0] - lambda(p.head) * o[1];
  });
}

// Outputs, in every combination that no other variant has.

#define FOVEA_RETURNS(name, ...)                                 \
  FOVEA_VARIANT(name, v) {                                       \
    v.keep(masks::last_tokens(50));                              \
    for (const Output output : {__VA_ARGS__}) v.returns(output); \
  }
FOVEA_RETURNS(test_returns_m, row_max)
FOVEA_RETURNS(test_returns_s, row_sum)
FOVEA_RETURNS(test_returns_p, probabilities)
FOVEA_RETURNS(test_returns_lm, lse, row_max)
FOVEA_RETURNS(test_returns_ls, lse, row_sum)
FOVEA_RETURNS(test_returns_lp, lse, probabilities)
FOVEA_RETURNS(test_returns_ms, row_max, row_sum)
FOVEA_RETURNS(test_returns_mp, row_max, probabilities)
FOVEA_RETURNS(test_returns_sp, row_sum, probabilities)
FOVEA_RETURNS(test_returns_lms, lse, row_max, row_sum)
FOVEA_RETURNS(test_returns_lmp, lse, row_max, probabilities)
FOVEA_RETURNS(test_returns_lsp, lse, row_sum, probabilities)
FOVEA_RETURNS(test_returns_msp, row_max, row_sum, probabilities)
FOVEA_RETURNS(test_returns_lmsp, lse, row_max, row_sum, probabilities)

FOVEA_VARIANT(test_returns_of_weights, v) {
  v.keep(masks::causal());
  v.normalize(relu().divided_by([](Expr sum, const Position&) { return sum + 1.0f; }));
  v.returns(row_sum);
  v.returns(probabilities);
}

FOVEA_VARIANT(test_returns_with_sink, v) {
  auto sink = v.table<float>("sink", {axis::head});
  v.keep(masks::causal());
  v.normalize(softmax().sink(sink));
  for (const Output output : {lse, row_max, row_sum, probabilities}) v.returns(output);
}

// Tables of bool, of rows and of positions; extents as numbers.

FOVEA_VARIANT(test_bool_dense, v) {
  auto keep = v.table<bool>("keep", {axis::batch, axis::head, axis::row, axis::key});
  v.keep([=](const Position& p) { return keep(p.batch, p.head, p.row, p.k); });
  v.returns(lse);
}

FOVEA_VARIANT(test_bool_queries, v) {
  auto active = v.table<bool>("active", {axis::query});
  v.keep(masks::causal() & [=](const Position& p) { return active(p.q); });
  v.returns(lse);
}

FOVEA_VARIANT(test_bool_positions, v) {
  auto global = v.table<bool>("global", {axis::position});
  v.keep(masks::window(9, 9) | [=](const Position& p) { return global(p.q) || global(p.k); });
  v.returns(lse);
}

FOVEA_VARIANT(test_bool_score, v) {
  auto important = v.table<bool>("important", {axis::key});
  v.score([=](Expr s, const Position& p) { return select(important(p.k), s * 1.5f, s - 0.5f); });
  v.returns(lse);
}

FOVEA_VARIANT(test_bool_blocks, v) {
  auto visible = v.table<bool>("visible", {axis::any, axis::any});
  v.keep([=](const Position& p) { return visible(p.row / 16, p.k / 32); });
  v.returns(lse);
}

FOVEA_VARIANT(test_row_bias, v) {
  auto bias = v.table<float>("bias", {axis::batch, axis::row, axis::key});
  v.score([=](Expr s, const Position& p) { return s + bias(p.batch, p.row, p.k); });
  v.returns(lse);
}

FOVEA_VARIANT(test_position_bias, v) {
  auto of = v.table<float>("of", {axis::position});
  v.score([=](Expr s, const Position& p) { return s + of(p.q) * of(p.k); });
  v.keep(masks::causal());
  v.returns(lse);
}

FOVEA_VARIANT(test_relative_extent, v) {
  auto bias = v.table<float>("bias", {axis::head, axis::any});
  v.score(
      [=](Expr s, const Position& p) { return s + bias(p.head, p.q - p.k + bias.extent(1) / 2); });
  v.keep([=](const Position& p) { return p.q - p.k < bias.extent(1); });
  v.returns(lse);
}

// Much at once.

FOVEA_VARIANT(test_much, v) {
  auto gain = v.table<float>("gain", {axis::feature});
  auto cap = v.scalar<float>("cap").between(1.0f, 50.0f);
  auto sink = v.table<float>("sink", {axis::head});
  auto visible = v.table<bool>("visible", {axis::batch, axis::key});
  auto gate = v.table<float>("gate", {axis::row, axis::value_feature});
  v.query([=](const Row& row, Expr d, const Position&) { return normalised(row, d) * gain(d); });
  v.key([=](const Row& row, Expr d, const Position&) { return normalised(row, d) * gain(d); });
  v.value([](const Row& row, Expr d, const Position& p) {
    return row(d) * (1.0f + 0.25f * cast<float>(p.k % 2));
  });
  v.score([=](Expr s, const Position&) { return cap * tanh(s / cap); });
  v.score([](Expr s, const Position& p) { return s - 0.05f * cast<float>(p.q - p.k); });
  v.keep(masks::causal());
  v.keep([=](const Position& p) { return visible(p.batch, p.k) || p.k == p.q; });
  v.normalize(softmax().sink(sink));
  v.weight_factor([](const Position& p) { return select((p.q + p.k) % 7 == 0, 0.0f, 1.125f); });
  v.output(
      [=](const Row& row, Expr d, const Position& p) { return row(d) * sigmoid(gate(p.row, d)); });
  for (const Output output : {lse, row_max, row_sum, probabilities}) v.returns(output);
}
