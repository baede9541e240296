// decode.cpp: the call that docs/decode.md shows.
// SPDX-License-Identifier: Apache-2.0
#include <docs_attention.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

fovea::Status next_token(const std::vector<float>& q, const std::vector<float>& keys,
                         const std::vector<float>& values, std::vector<float>& out) {
  // [batch, KV heads, capacity, d]: room for 4096 tokens, of which 1000 and 17 are there.
  const fovea::Shape cache = {2, 2, 4096, 64}, query = {2, 8, 1, 64};
  const std::int32_t tokens[] = {1000, 17};
  fovea::Call call(fovea::tensor(q.data(), query), fovea::tensor(keys.data(), cache),
                   fovea::tensor(values.data(), cache), fovea::tensor(out.data(), query));
  call.kv_len = tokens;
  docs_attention_softcapped_window_params params = {50.0f, 256};
  return docs_attention::softcapped_window::run(call, params);
}

}  // namespace

int main() {
  const std::size_t rows = 2 * 2 * 4096;
  std::vector<float> q(2 * 8 * 64, 0.5f), keys(rows * 64, 0.25f), values(rows * 64, 2.0f),
      out(q.size());
  // What is not there yet is never read.
  for (std::size_t head = 0; head < 4; ++head) {
    for (std::size_t row = head < 2 ? 1000 : 17; row < 4096; ++row) {
      keys[(head * 4096 + row) * 64] = NAN;
      values[(head * 4096 + row) * 64] = NAN;
    }
  }
  if (!next_token(q, keys, values, out).ok()) return 1;
  for (const float o : out) {
    if (o != 2.0f) return 1;
  }
  return 0;
}
