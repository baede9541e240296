// merge.cpp: the parts that docs/merging.md shows, checked against one call over all keys.
// SPDX-License-Identifier: Apache-2.0
#include <docs_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

namespace {

constexpr int64_t heads = 8, kv_heads = 2, rows = 4, keys = 1000, features = 64;
constexpr fovea::Shape query = {1, heads, rows, features};

struct Step {
  std::vector<float> q, k, v, slopes;  // a cache of all keys: [KV head, key, feature]
};

// What the rows get from keys `first` to `first + count - 1`. The call counts keys from 0, so the
// position of the first row is counted from there, too; it may be negative.
fovea::Status attend(const Step& step, int64_t first, int64_t count, float* out, float* lse) {
  const fovea::Shape shard = {1, kv_heads, count, features};
  const fovea::Strides cache = {kv_heads * keys * features, keys * features, features, 1};
  const int32_t q_offset = static_cast<int32_t>(keys - rows - first);
  fovea::Call call(fovea::tensor(step.q.data(), query),
                   fovea::tensor(step.k.data() + first * features, shard, cache),
                   fovea::tensor(step.v.data() + first * features, shard, cache),
                   fovea::tensor(out, query));
  call.lse = fovea::lse_tensor(lse, 1, heads, rows);
  call.q_offset = &q_offset;
  return docs_attention::alibi::run(call, {fovea::table(step.slopes.data(), heads)});
}

// The second part is computed into the memory of the result, and stays there.
fovea::Status in_two_parts(const Step& step, int64_t split, float* out, float* lse) {
  std::vector<float> first_out(heads * rows * features), first_lse(heads * rows);
  fovea::Status status = attend(step, 0, split, first_out.data(), first_lse.data());
  if (status.ok()) status = attend(step, split, keys - split, out, lse);
  if (!status.ok()) return status;

  const fovea_partial parts[] = {
      {fovea::tensor(first_out.data(), query), fovea::lse_tensor(first_lse.data(), 1, heads, rows)},
      {fovea::tensor(out, query), fovea::lse_tensor(lse, 1, heads, rows)}};
  return fovea::merge(parts, parts[1]);
}

// A sink is a key without a value: zeros for every row, and its logit as LSE.
fovea::Status add_sinks(const float* sinks, float* out, float* lse) {
  const float zeros[features] = {};
  const fovea_partial parts[] = {
      {fovea::tensor(out, query), fovea::lse_tensor(lse, 1, heads, rows)},
      {fovea::tensor(zeros, query, {0, 0, 0, 1}),
       fovea::tensor(sinks, {1, heads, rows, 1}, {0, 1, 0, 1})}};
  return fovea::merge(parts, parts[0]);
}

/* In C: any number of parts, and any of them may be the result. */
fovea_status merge_all(const fovea_partial* parts, int64_t count) {
  const fovea_status status = fovea_merge(parts, count, &parts[0], NULL);
  if (status != FOVEA_OK) fprintf(stderr, "%s\n", fovea_last_message());
  return status;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

bool is_close(const char* what, const std::vector<float>& a, const std::vector<float>& b) {
  const float difference = largest_difference(a, b);
  std::printf("%s: largest difference %g\n", what, static_cast<double>(difference));
  return difference <= 2e-6f;
}

}  // namespace

int main() {
  Step step;
  const auto fill = [](std::vector<float>& numbers, int64_t count, float period) {
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(std::sin(static_cast<float>(i % 9973) * period));
  };
  fill(step.q, heads * rows * features, 0.37f);
  fill(step.k, kv_heads * keys * features, 0.73f);
  fill(step.v, kv_heads * keys * features, 0.11f);
  for (int64_t h = 0; h < heads; ++h)
    step.slopes.push_back(std::exp2(-1.0f - static_cast<float>(h)));

  std::vector<float> whole(heads * rows * features), whole_lse(heads * rows);
  if (!attend(step, 0, keys, whole.data(), whole_lse.data()).ok()) return 1;
  for (const int64_t split : {0, 1, 500, 999, 1000}) {
    std::vector<float> out(whole.size()), lse(whole_lse.size());
    const fovea::Status status = in_two_parts(step, split, out.data(), lse.data());
    if (!status.ok()) return std::puts(status.message()), 1;
    if (!is_close("out", out, whole) || !is_close("lse", lse, whole_lse)) return 1;
  }

  // With a sink of the size of everything else, every output is half of what it was.
  std::vector<float> sinks(heads), halves(whole.size()), out = whole, lse = whole_lse;
  for (int64_t i = 0; i < heads * rows; ++i) lse[i] = 1.5f;
  std::fill(sinks.begin(), sinks.end(), 1.5f);
  if (!add_sinks(sinks.data(), out.data(), lse.data()).ok()) return 1;
  for (size_t i = 0; i < whole.size(); ++i) halves[i] = whole[i] / 2;
  if (!is_close("sink", out, halves)) return 1;

  // Three equal parts are one of them, with the logarithm of 3 more.
  std::vector<float> thirds[3] = {whole, whole, whole}, logs[3] = {whole_lse, whole_lse, whole_lse};
  fovea_partial parts[3];
  for (int i = 0; i < 3; ++i)
    parts[i] = {fovea::tensor(thirds[i].data(), query),
                fovea::lse_tensor(logs[i].data(), 1, heads, rows)};
  if (merge_all(parts, 3) != FOVEA_OK) return 1;
  for (float& x : logs[1]) x += std::log(3.0f);
  return is_close("thirds", thirds[0], whole) && is_close("thirds", logs[0], logs[1]) ? 0 : 1;
}
