// SPDX-License-Identifier: Apache-2.0
#include "setup.h"

#include <algorithm>

namespace fovea::test {
namespace {

// Key blocks of prefill kernels are 64 or 128 keys; chunks of decode kernels are some of their own.
int64_t key_length(const TestKernel& kernel, Random& random) {
  if (kernel.decodes() && random.chance(0.5)) {
    const int64_t chunk = kernel.info().decode->key_block * kernel.info().decode->chunk_blocks;
    return std::clamp<int64_t>(chunk * random.integer(1, 3) + random.integer(-1, 1), 1, 1999);
  }
  if (random.chance(0.4)) {
    return random.pick<int64_t>({1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257});
  }
  return random.chance(0.5) ? random.integer(1, 70) : random.integer(1, 257);
}

int64_t query_length(int64_t block_rows, Random& random) {
  if (random.chance(0.4)) {
    return std::max<int64_t>(1, block_rows * random.integer(0, 2) + random.integer(-1, 1));
  }
  return random.integer(1, 2 * block_rows + 1);
}

std::string list(const char* name, const std::vector<int32_t>& values) {
  if (values.empty()) return "";
  std::string text = std::string(" ") + name + "=";
  for (const int32_t v : values) text += std::to_string(v) + ",";
  text.pop_back();
  return text;
}

void random_lengths(CallSetup& s, Random& random) {
  for (int64_t b = 0; b < s.batch; ++b) {
    const auto length = [&](int64_t rows) {
      return static_cast<int32_t>(random.chance(0.1)   ? 0
                                  : random.chance(0.3) ? rows
                                                       : random.integer(0, rows));
    };
    s.q_len.push_back(length(s.q_rows));
    s.kv_len.push_back(length(s.kv_rows));
  }
  if (random.chance(0.3)) s.q_len.clear();
  if (random.chance(0.2)) s.kv_len.clear();
}

void random_offsets(CallSetup& s, Random& random) {
  const bool top_left = random.chance(0.4);
  for (int64_t b = 0; b < s.batch; ++b) {
    s.q_offset.push_back(
        top_left ? 0 : static_cast<int32_t>(random.integer(-s.q_rows - 3, s.kv_rows + 3)));
  }
}

}  // namespace

std::string CallSetup::text() const {
  std::string t = "b=" + std::to_string(batch) + " hq=" + std::to_string(heads) +
                  " hkv=" + std::to_string(kv_heads) + " sq=" + std::to_string(q_rows) +
                  " skv=" + std::to_string(kv_rows);
  t += list("q_len", q_len) + list("kv_len", kv_len) + list("q_offset", q_offset);
  if (scale) t += " scale=" + std::to_string(*scale);
  t += " spread=" + std::to_string(spread) + " threads=" + std::to_string(threads);
  t += packed ? " packed" : " q" + q.text() + " k" + k.text() + " v" + v.text();
  t += " out" + out.text();
  if (wants_lse) t += " lse" + lse.text();
  if (wants_row_max) t += " row_max" + row_max.text();
  if (wants_row_sum) t += " row_sum" + row_sum.text();
  if (wants_probabilities) t += " probabilities" + probabilities.text();
  if (unreadable_tail) t += " unreadable tail";
  return t + (workspace == Workspace::Exact ? " workspace" : "");
}

CallSetup plain_setup(int64_t q_rows, int64_t kv_rows, int64_t heads, int64_t kv_heads) {
  CallSetup s;
  s.q_rows = q_rows;
  s.kv_rows = kv_rows;
  s.heads = heads;
  s.kv_heads = kv_heads;
  return s;
}

void want_all_outputs(CallSetup& s, const TestKernel& kernel) {
  s.wants_lse = (kernel.outputs() & FOVEA_OUTPUT_LSE) != 0;
  s.wants_row_max = (kernel.outputs() & FOVEA_OUTPUT_ROW_MAX) != 0;
  s.wants_row_sum = (kernel.outputs() & FOVEA_OUTPUT_ROW_SUM) != 0;
  s.wants_probabilities = (kernel.outputs() & FOVEA_OUTPUT_PROBABILITIES) != 0;
}

void random_layouts(CallSetup& s, const TestKernel& kernel, Random& random) {
  s.q = random_layout(random, true);
  s.k = random_layout(random, true);
  s.v = random_layout(random, true);
  s.out = random_layout(random, false);
  s.lse = random_layout(random, false);
  for (Layout* layout : {&s.row_max, &s.row_sum, &s.probabilities})
    *layout = random_layout(random, false);
  s.probabilities.last_stride = random.pick<int64_t>({1, 1, 2, 3, -1, -2});
  s.packed = kernel.info().d_qk == kernel.info().d_v && s.q_rows == s.kv_rows && random.chance(0.5);
}

CallSetup random_setup(const TestKernel& kernel, Random& random, int64_t most_products) {
  const fovea_kernel_info& info = kernel.info();
  CallSetup s;
  s.q_rows = query_length(info.block_rows, random);
  s.kv_rows = random.chance(0.15) ? s.q_rows : key_length(kernel, random);
  s.kv_heads = random.integer(1, 3);
  s.heads = s.kv_heads * random.pick<int64_t>({1, 1, 2, 4, 8});
  s.batch = random.pick<int64_t>({1, 1, 2, 3});
  // The references compute in the order of a hundred million products a second.
  const auto products = [&] {
    return s.batch * s.heads * s.q_rows * s.kv_rows * (info.d_qk + 2 * info.d_v);
  };
  if (products() > most_products) s.batch = std::min<int64_t>(s.batch, 2);
  while (products() > most_products && s.heads > 1) {
    if (s.heads > s.kv_heads) {
      s.heads = s.kv_heads * (s.heads / s.kv_heads / 2);
    } else {
      s.heads = --s.kv_heads;
    }
  }
  if (products() > 2 * most_products) s.kv_rows = std::max<int64_t>(1, s.kv_rows / 2);
  if (random.chance(0.5)) random_lengths(s, random);
  if (random.chance(0.4)) random_offsets(s, random);
  if (random.chance(0.25)) s.scale = static_cast<float>(random.pick({0.0, -0.25, 0.3, 1.0}));
  s.spread = static_cast<float>(random.pick({0.3, 1.0, 1.0, 2.0}));
  want_all_outputs(s, kernel);
  for (bool* wanted : {&s.wants_lse, &s.wants_row_max, &s.wants_row_sum, &s.wants_probabilities}) {
    *wanted = *wanted && random.chance(0.75);
  }
  s.threads = random.chance(0.2) ? 3 : 1;
  if (random.chance(0.3)) s.workspace = Workspace::Exact;
  random_layouts(s, kernel, random);
  if (s.batch * s.kv_heads == 1 && s.heads == 1 && random.chance(0.5) && !s.packed) {
    s.unreadable_tail = true;
  }
  return s;
}

}  // namespace fovea::test
