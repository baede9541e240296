// two_schedules_test.cpp: a library that holds two schedules of one kernel and chooses by the shape
// of the call.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>
#include <fovea_two_schedules.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fovea/fovea.hpp>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" const struct fovea_library_info* fovea_two_schedules_library(void);

namespace {

constexpr int64_t limit = 40, dims = 16, heads = 2;

struct OneCall {
  OneCall(int64_t query_rows, int64_t key_rows) : rows(query_rows), keys(key_rows) {
    std::mt19937 random(static_cast<uint32_t>(rows * 1000 + keys));
    std::uniform_real_distribution<float> number(-2, 2);
    q.resize(static_cast<size_t>(heads * rows * dims));
    k.resize(static_cast<size_t>(heads * keys * dims));
    v.resize(k.size());
    out.assign(q.size(), NAN);
    for (std::vector<float>* x : {&q, &k, &v}) {
      for (float& value : *x) value = number(random);
    }
    call.q = tensor(q.data(), rows);
    call.k = tensor(k.data(), keys);
    call.v = tensor(v.data(), keys);
    call.out = tensor(out.data(), rows);
  }
  static fovea_tensor tensor(float* data, int64_t length) {
    return fovea::tensor(data, fovea::Shape{1, heads, length, dims});
  }
  fovea_status run() { return fovea_two_schedules_full(&call, nullptr); }
  std::string explanation() const {
    std::vector<char> text(4096);
    fovea_two_schedules_full_explain(&call, text.data(), text.size());
    return text.data();
  }
  // The largest distance from the result in double.
  double error() const {
    double largest = 0;
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < rows; ++i) {
        std::vector<double> weights(static_cast<size_t>(keys)), sum(dims);
        double total = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double s = 0;
          for (int64_t d = 0; d < dims; ++d)
            s += double{q[at(rows, h, i, d)]} * double{k[at(keys, h, j, d)]};
          weights[static_cast<size_t>(j)] = std::exp(s / std::sqrt(double{dims}));
          total += weights[static_cast<size_t>(j)];
        }
        for (int64_t d = 0; d < dims; ++d) {
          double value = 0;
          for (int64_t j = 0; j < keys; ++j)
            value += weights[static_cast<size_t>(j)] / total * double{v[at(keys, h, j, d)]};
          largest = std::max(largest, std::abs(value - double{out[at(rows, h, i, d)]}));
        }
      }
    }
    return largest;
  }
  static size_t at(int64_t length, int64_t h, int64_t i, int64_t d) {
    return static_cast<size_t>((h * length + i) * dims + d);
  }

  int64_t rows, keys;
  std::vector<float> q, k, v, out;
  fovea::Call call;
};

bool is_limited(const std::string& name) { return name.ends_with("__q40_k40"); }

TEST(TwoSchedules, EveryTargetHasBothAndTheManifestSaysSo) {
  std::ifstream file(FOVEA_TEST_MANIFEST);
  const auto manifest = nlohmann::json::parse(file);
  size_t limited = 0;
  for (const auto& row : manifest["kernels"]) {
    const auto name = row["name"].get<std::string>();
    EXPECT_EQ(row.contains("most_rows"), is_limited(name)) << name;
    if (!is_limited(name)) continue;
    ++limited;
    EXPECT_EQ(row["most_rows"], limit);
    EXPECT_EQ(row["most_keys"], limit);
    EXPECT_THAT(row["schedule"].get<std::string>(), testing::HasSubstr("key_block=32"));
    EXPECT_THAT(row["schedule_from"].get<std::string>(), testing::HasSubstr("short_calls.jsonl"));
  }
  // An entry of another declaration of `full` is not used: then the file is to be made anew.
  EXPECT_EQ(limited, 1U) << manifest["kernels"].dump(1);
}

TEST(TwoSchedules, BothSidesOfTheLimitAreRight) {
  for (const auto& [rows, keys] : {std::pair{limit, limit},
                                   {limit + 1, limit + 1},
                                   {limit + 1, limit},
                                   {limit, limit + 1},
                                   {int64_t{17}, int64_t{1}},
                                   {int64_t{17}, int64_t{33}},
                                   {int64_t{200}, int64_t{200}}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(keys) + " keys");
    OneCall one(rows, keys);
    ASSERT_EQ(one.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_LT(one.error(), 1e-5);
    const std::string text = one.explanation(), chosen = text.substr(0, text.find(" ("));
    EXPECT_EQ(is_limited(chosen), rows <= limit && keys <= limit) << text;
  }
}

}  // namespace
