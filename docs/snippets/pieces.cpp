// pieces.cpp: one small variant for each piece that a declaration can be made of, each below the
// formula that `fovea show` prints for it.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// score = softcap * tanh(score / softcap)
// score = score + bias[head, q - k]
FOVEA_VARIANT(steps_in_order, v) {
  auto softcap = v.scalar<float>("softcap").positive();
  auto bias = v.table<float>("bias", {axis::head, axis::position});
  v.score([=](Expr s, Position) { return softcap * tanh(s / softcap); });
  v.score([=](Expr s, Position p) { return s + bias(p.head, p.q - p.k); });
}

// keep k <= q && (q - k < window || k < 4) && document[batch, q] == document[batch, k]
FOVEA_VARIANT(composed_mask, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto document = v.table<int>("document", {axis::batch, axis::position});
  Mask near = [=](Position p) { return p.q - p.k < window; };
  v.keep(masks::causal() & (near | masks::first_tokens(4)));
  v.keep([=](Position p) { return document(p.batch, p.q) == document(p.batch, p.k); });
}

// keep allowed[head, row, k]
FOVEA_VARIANT(dense_mask, v) {
  auto allowed = v.table<bool>("allowed", {axis::head, axis::row, axis::key});
  v.keep([=](Position p) { return allowed(p.head, p.row, p.k); });
}

// score = score + bias[clamp(k - q + reach, 0, extent(bias) - 1)]
FOVEA_VARIANT(table_of_any_extent, v) {
  auto reach = v.scalar<int>("reach").at_least(0);
  auto bias = v.table<float>("bias", {axis::any});
  v.score(
      [=](Expr s, Position p) { return s + bias(clamp(p.k - p.q + reach, 0, bias.extent() - 1)); });
}

// query[d] = query[d] / sqrt(mean_j(query[j]^2) + 1e-06) * gain[d]
// key[d] = key[d] / sqrt(mean_j(key[j]^2) + 1e-06)
FOVEA_VARIANT(normalised_rows, v) {
  auto gain = v.table<float>("gain", {axis::feature});
  v.query([=](const Row& x, Expr d, Position) {
    return x(d) / sqrt(x.mean_square() + 1e-6f) * gain(d);
  });
  v.key([](const Row& x, Expr d, Position) { return x(d) / sqrt(x.mean_square() + 1e-6f); });
}

// value[d] = value[d] * scale[kv_head, d]
// out[d] = out[d] * sigmoid(gate[batch, head, row, d])
FOVEA_VARIANT(values_and_output, v) {
  auto scale = v.table<float>("scale", {axis::kv_head, axis::value_feature});
  auto gate = v.table<float>("gate", {axis::batch, axis::head, axis::row, axis::value_feature});
  v.value([=](const Row& x, Expr d, Position p) { return x(d) * scale(p.kv_head, d); });
  v.output([=](const Row& x, Expr d, Position p) {
    return x(d) * sigmoid(gate(p.batch, p.head, p.row, d));
  });
}

// w = exp(score) / (sum_k(exp(score)) + exp(sink[head]))
FOVEA_VARIANT(sink_logit, v) {
  auto sink = v.table<float>("sink", {axis::head});
  v.normalize(softmax().sink(sink));
}

// w = sigmoid(score + offset)
FOVEA_VARIANT(other_weights, v) {
  auto offset = v.scalar<float>("offset");
  v.normalize(weights([=](Expr s, Position) { return sigmoid(s + offset); }));
}

// w = max(score, 0)^2
// w = w / max(sum, 1), sum = sum_k(w)
FOVEA_VARIANT(weights_and_divisor, v) {
  v.normalize(weights([](Expr s, Position) {
                return max(s, 0.0f) * max(s, 0.0f);
              }).divided_by([](Expr sum, Position) { return max(sum, 1.0f); }));
}

// w = w * (1 / keep if kept[batch, row, k] else 0)
FOVEA_VARIANT(factor_of_weights, v) {
  auto kept = v.table<bool>("kept", {axis::batch, axis::row, axis::key});
  auto keep = v.scalar<float>("keep").positive().at_most(1);
  v.weight_factor([=](Position p) { return select(kept(p.batch, p.row, p.k), 1.0f / keep, 0.0f); });
}

// out[d] = o[0] - lambda[head] * o[1], each o[i] made like this from slice i of 2 of the features
FOVEA_VARIANT(two_slices, v) {
  auto lambda = v.table<float>("lambda", {axis::head});
  v.slices(2, [=](const std::vector<Expr>& o, Position p) { return o[0] - lambda(p.head) * o[1]; });
}

// lse = ln(sum_k(exp(score)))
// row_max = max_k(score)
FOVEA_VARIANT(extra_outputs, v) {
  v.returns(lse);
  v.returns(row_max);
}
