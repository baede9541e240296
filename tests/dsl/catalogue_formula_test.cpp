// catalogue_formula_test.cpp: shipped variants against their published formulas, written out in
// plain loops. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/example.h>
#include <fovea/dsl/reference.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "small_problem.h"

namespace fovea {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t heads = 4, kv_heads = 2, rows = 6, keys = 11, d = 8, offset = keys - rows;

struct Inputs {
  Inputs() : problem({.hq = heads, .hkv = kv_heads, .sq = rows, .skv = keys, .d = d, .dv = d}) {
    fill(problem.q, 11);
    fill(problem.k, 12);
    fill(problem.v, 13);
  }
  double q(int64_t h, int64_t i, int64_t f) const { return at(problem.q, (h * rows + i) * d + f); }
  double k(int64_t h, int64_t j, int64_t f) const {
    return at(problem.k, (h / 2 * keys + j) * d + f);
  }
  double v(int64_t h, int64_t j, int64_t f) const {
    return at(problem.v, (h / 2 * keys + j) * d + f);
  }
  double product(int64_t h, int64_t i, int64_t j, int64_t first = 0, int64_t count = d) const {
    double sum = 0;
    for (int64_t f = first; f < first + count; ++f) sum += q(h, i, f) * k(h, j, f);
    return sum;
  }
  static double at(const std::vector<float>& data, int64_t i) {
    return static_cast<double>(data[static_cast<size_t>(i)]);
  }
  Problem problem;
};

class CatalogueFormulas : public ::testing::Test {
 protected:
  using Weights = std::vector<double>;
  // What is compared: the weights of a row (summing to anything), and what becomes of its output.
  using RowFormula = std::function<Weights(int64_t h, int64_t i)>;
  using OutputFormula =
      std::function<std::vector<double>(std::vector<double> out, int64_t h, int64_t i)>;

  void expect(const std::string& name, const RowFormula& weights,
              const OutputFormula& output = nullptr) {
    const Variant& variant = named_(name);
    const ExampleParameters example(variant, shape_);
    const ReferenceResult result = reference_attention(variant, in_.problem.call, example.values());
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < rows; ++i) {
        const Weights w = weights(h, i);
        std::vector<double> out(d, 0.0);
        for (int64_t f = 0; f < d; ++f) {
          for (int64_t j = 0; j < keys; ++j) {
            out[static_cast<size_t>(f)] += w[static_cast<size_t>(j)] * in_.v(h, j, f);
          }
        }
        if (output) out = output(out, h, i);
        for (int64_t f = 0; f < d; ++f) {
          ASSERT_NEAR(result.out[static_cast<size_t>(((h * rows) + i) * d + f)],
                      out[static_cast<size_t>(f)], 1e-6)
              << name << " head " << h << " row " << i;
        }
      }
    }
  }

  // The same for variants that are a softmax of one score for each pair, -infinity where hidden.
  void expect_softmax(const std::string& name,
                      const std::function<double(int64_t h, int64_t i, int64_t j)>& score,
                      const OutputFormula& output = nullptr) {
    expect(
        name,
        [&](int64_t h, int64_t i) {
          Weights s;
          for (int64_t j = 0; j < keys; ++j) s.push_back(score(h, i, j));
          return softmax_of(s);
        },
        output);
  }

  static Weights softmax_of(Weights s, double sink = -infinity) {
    double sum = std::exp(sink);
    for (const double x : s) sum += std::exp(x);
    for (double& x : s) x = std::exp(x) / sum;
    return s;
  }

  static const Variant& named_(const std::string& name) {
    static const std::vector<Variant> all = declared_variants();
    for (const Variant& v : all) {
      if (v.name() == name) return v;
    }
    throw std::out_of_range("no variant " + name);
  }

  // The example value of a parameter, as the formulas need it.
  double entry(const std::string& name, const std::string& parameter,
               const std::vector<int64_t>& index) {
    const Parameter* p = named_(name).find_parameter(parameter);
    return static_cast<double>(static_cast<float>(p->example_entry(shape_, index)));
  }

  double scaled(int64_t h, int64_t i, int64_t j) const {
    return in_.product(h, i, j) / std::sqrt(static_cast<double>(d));
  }
  static bool visible(int64_t i, int64_t j) { return j <= offset + i; }

  Inputs in_;
  ExampleShape shape_ = {.batch = 1,
                         .heads = heads,
                         .kv_heads = kv_heads,
                         .q_len = rows,
                         .kv_len = keys,
                         .d_qk = d,
                         .d_v = d};
};

TEST_F(CatalogueFormulas, Biases) {
  const double slopes[] = {std::exp2(-2), std::exp2(-4), std::exp2(-6), std::exp2(-8)};
  expect_softmax("alibi_causal", [&](int64_t h, int64_t i, int64_t j) {
    return visible(i, j) ? scaled(h, i, j) - slopes[h] * static_cast<double>(offset + i - j)
                         : -infinity;
  });
  expect_softmax("alibi", [&](int64_t h, int64_t i, int64_t j) {
    return scaled(h, i, j) - slopes[h] * static_cast<double>(std::abs(offset + i - j));
  });
  std::vector<double> bias;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t b = 0; b < 257; ++b) bias.push_back(entry("relative_table", "bias", {h, b}));
  }
  expect_softmax("relative_table", [&](int64_t h, int64_t i, int64_t j) {
    return scaled(h, i, j) + bias[static_cast<size_t>(h * 257 + 128 + j - offset - i)];
  });
  std::vector<double> t5;
  for (int64_t b = 0; b < 32; ++b) {
    for (int64_t h = 0; h < heads; ++h) t5.push_back(entry("t5_bias", "bias", {b, h}));
  }
  // Distances below 8 (16 causal) have a bucket each; the two at 8 to 10 are in the first wide one.
  expect_softmax("t5_bias", [&](int64_t h, int64_t i, int64_t j) {
    const int64_t distance = j - offset - i;
    const int64_t bucket = std::min<int64_t>(std::abs(distance), 8) + (distance > 0 ? 16 : 0);
    return scaled(h, i, j) + t5[static_cast<size_t>(bucket * heads + h)];
  });
  expect_softmax("t5_causal", [&](int64_t h, int64_t i, int64_t j) {
    const int64_t distance = offset + i - j;
    return visible(i, j) ? scaled(h, i, j) + t5[static_cast<size_t>(distance * heads + h)]
                         : -infinity;
  });
  const auto ring = [](int64_t i, int64_t j) {
    const int64_t apart = std::abs(offset + i - j);
    return std::min(apart, keys - apart);
  };
  std::vector<double> graph;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t b = 0; b < keys; ++b) graph.push_back(entry("graph_bias", "bias", {h, b}));
  }
  expect_softmax("graph_bias", [&](int64_t h, int64_t i, int64_t j) {
    return scaled(h, i, j) + graph[static_cast<size_t>(h * keys + ring(i, j))];
  });
  std::vector<double> dense;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < keys; ++j) {
        dense.push_back(entry("dense_bias", "bias", {0, h, i, j}));
      }
    }
  }
  expect_softmax("dense_bias", [&](int64_t h, int64_t i, int64_t j) {
    return scaled(h, i, j) + dense[static_cast<size_t>((h * rows + i) * keys + j)];
  });
}

TEST_F(CatalogueFormulas, Scores) {
  for (const char* name : {"softcapped", "softcapped_window"}) {
    expect_softmax(name, [&](int64_t h, int64_t i, int64_t j) {
      return visible(i, j) ? 50 * std::tanh(scaled(h, i, j) / 50) : -infinity;
    });
  }
  const double factor[] = {
      entry("logit_scale", "logit_scale", {0}), entry("logit_scale", "logit_scale", {1}),
      entry("logit_scale", "logit_scale", {2}), entry("logit_scale", "logit_scale", {3})};
  const float one = 1;
  in_.problem.call.scale = &one;
  expect_softmax("logit_scale", [&](int64_t h, int64_t i, int64_t j) {
    double qq = 0, kk = 0;
    for (int64_t f = 0; f < d; ++f) {
      qq += in_.q(h, i, f) * in_.q(h, i, f);
      kk += in_.k(h, j, f) * in_.k(h, j, f);
    }
    return factor[h] * in_.product(h, i, j) / std::sqrt(qq * kk);
  });
}

TEST_F(CatalogueFormulas, Sinks) {
  for (const char* name : {"sink_causal", "sink_window"}) {
    expect(name, [&](int64_t h, int64_t i) {
      Weights s;
      for (int64_t j = 0; j < keys; ++j) s.push_back(visible(i, j) ? scaled(h, i, j) : -infinity);
      return softmax_of(s, entry(name, "sink", {h}));
    });
  }
}

TEST_F(CatalogueFormulas, Transforms) {
  const auto norm = [&](const std::function<double(int64_t)>& row, int64_t f) {
    double squares = 0;
    for (int64_t g = 0; g < d; ++g) squares += row(g) * row(g);
    return row(f) / std::sqrt(squares / static_cast<double>(d) + 1e-6);
  };
  std::vector<double> q_gain, k_gain;
  for (int64_t f = 0; f < d; ++f) {
    q_gain.push_back(entry("qk_norm", "query_weight", {f}));
    k_gain.push_back(entry("qk_norm", "key_weight", {f}));
  }
  expect_softmax("qk_norm", [&](int64_t h, int64_t i, int64_t j) {
    double product = 0;
    for (int64_t f = 0; f < d; ++f) {
      product +=
          norm([&](int64_t g) { return in_.q(h, i, g); }, f) * q_gain[static_cast<size_t>(f)] *
          norm([&](int64_t g) { return in_.k(h, j, g); }, f) * k_gain[static_cast<size_t>(f)];
    }
    return visible(i, j) ? product / std::sqrt(static_cast<double>(d)) : -infinity;
  });
  expect_softmax(
      "gated_output",
      [&](int64_t h, int64_t i, int64_t j) { return visible(i, j) ? scaled(h, i, j) : -infinity; },
      [&](std::vector<double> out, int64_t h, int64_t i) {
        for (int64_t f = 0; f < d; ++f) {
          out[static_cast<size_t>(f)] /= 1 + std::exp(-entry("gated_output", "gate", {0, h, i, f}));
        }
        return out;
      });
  expect("scaled_kv", [&](int64_t h, int64_t i) {
    Weights w;
    for (int64_t j = 0; j < keys; ++j) {
      const double scale = entry("scaled_kv", "key_scale", {0, h / 2, j});
      w.push_back(visible(i, j) ? scale * scaled(h, i, j) : -infinity);
    }
    w = softmax_of(w);
    for (int64_t j = 0; j < keys; ++j) {
      w[static_cast<size_t>(j)] *= entry("scaled_kv", "value_scale", {0, h / 2, j});
    }
    return w;
  });
}

TEST_F(CatalogueFormulas, OtherNormalizers) {
  const auto each = [&](const std::function<double(int64_t, int64_t, int64_t)>& weight) {
    return [=](int64_t h, int64_t i) {
      Weights w;
      for (int64_t j = 0; j < keys; ++j) w.push_back(weight(h, i, j));
      return w;
    };
  };
  expect("sigmoid_attention", each([&](int64_t h, int64_t i, int64_t j) {
           return 1 / (1 + static_cast<double>(keys) * std::exp(-scaled(h, i, j)));
         }));
  expect("relu_attention", each([&](int64_t h, int64_t i, int64_t j) {
           return std::max(scaled(h, i, j), 0.0) / static_cast<double>(keys);
         }));
  expect("linear", each([&](int64_t h, int64_t i, int64_t j) {
           return visible(i, j) ? scaled(h, i, j) : 0;
         }));
  expect("retention", each([&](int64_t h, int64_t i, int64_t j) {
           const double decay = 1 - std::exp2(-5 - static_cast<double>(h));
           return visible(i, j)
                      ? scaled(h, i, j) * std::pow(decay, static_cast<double>(offset + i - j))
                      : 0;
         }));
  expect("squared_relu", [&](int64_t h, int64_t i) {
    Weights w;
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      const double positive = visible(i, j) ? std::max(scaled(h, i, j), 0.0) : 0;
      w.push_back(positive * positive);
      sum += w.back();
    }
    for (double& x : w) x /= std::max(sum, 1e-6);
    return w;
  });
}

TEST_F(CatalogueFormulas, Differential) {
  expect(
      "differential",
      [&](int64_t h, int64_t i) {
        Weights first, second;
        for (int64_t j = 0; j < keys; ++j) {
          const double scale = 1 / std::sqrt(static_cast<double>(d) / 2);
          first.push_back(visible(i, j) ? scale * in_.product(h, i, j, 0, d / 2) : -infinity);
          second.push_back(visible(i, j) ? scale * in_.product(h, i, j, d / 2, d / 2) : -infinity);
        }
        first = softmax_of(first);
        second = softmax_of(second);
        for (size_t j = 0; j < first.size(); ++j) {
          first[j] -= entry("differential", "lambda", {h}) * second[j];
        }
        return first;
      },
      [&](std::vector<double> out, int64_t, int64_t) {
        double squares = 0;
        for (const double x : out) squares += x * x;
        const double root = std::sqrt(squares / static_cast<double>(d) + 1e-5);
        for (int64_t f = 0; f < d; ++f) {
          out[static_cast<size_t>(f)] *= entry("differential", "weight", {f}) * (1 - 0.8) / root;
        }
        return out;
      });
}

TEST_F(CatalogueFormulas, Dropout) {
  expect("dropout_causal", [&](int64_t h, int64_t i) {
    Weights w;
    for (int64_t j = 0; j < keys; ++j) w.push_back(visible(i, j) ? scaled(h, i, j) : -infinity);
    w = softmax_of(w);
    for (int64_t j = 0; j < keys; ++j) {
      const float drawn = uniform(1234, 0, static_cast<int32_t>(h),
                                  static_cast<int32_t>(offset + i), static_cast<int32_t>(j));
      w[static_cast<size_t>(j)] *= drawn < 0.1f ? 0 : 1 / (1 - 0.1);
    }
    return w;
  });
}

// Rotation of the last features only: the others of a row take part as they are.
TEST_F(CatalogueFormulas, LatentAttentionTurnsTheLastFeatures) {
  constexpr int64_t dims = 4, first = d - dims;
  expect_softmax("mla", [&](int64_t h, int64_t i, int64_t j) {
    if (!visible(i, j)) return -infinity;
    double product = in_.product(h, i, j, 0, first);
    for (int64_t pair = 0; pair < dims / 2; ++pair) {
      // Turning both is turning one by the difference of the angles.
      const double angle = static_cast<double>(offset + i - j) * (pair == 0 ? 1 : 0.01);
      const int64_t x = first + 2 * pair, y = x + 1;
      product +=
          std::cos(angle) * (in_.q(h, i, x) * in_.k(h, j, x) + in_.q(h, i, y) * in_.k(h, j, y)) +
          std::sin(angle) * (in_.q(h, i, x) * in_.k(h, j, y) - in_.q(h, i, y) * in_.k(h, j, x));
    }
    return product / std::sqrt(static_cast<double>(d));
  });
}

}  // namespace
}  // namespace fovea
