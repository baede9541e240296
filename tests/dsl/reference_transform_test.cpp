// reference_transform_test.cpp: row transforms and slices against answers calculated another way.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "small_problem.h"

namespace fovea {
namespace {

Variant declared(const std::function<void(Variant&)>& body) {
  Variant v("sample");
  body(v);
  v.check();
  return v;
}

// Both precisions against the plain variant over `prepared`.
void expect_same_as_plain(const Variant& v, const fovea_call& call, const ParameterValues& values,
                          const fovea_call& prepared, double tolerance) {
  const ReferenceResult expected = reference_attention(plain(), prepared, {});
  const ReferenceResult exact = reference_attention(v, call, values);
  const ReferenceResult rounded = plain_attention(v, call, values);
  ASSERT_EQ(exact.out.size(), expected.out.size());
  for (size_t i = 0; i < expected.out.size(); ++i) {
    EXPECT_NEAR(exact.out[i], expected.out[i], tolerance) << i;
    EXPECT_NEAR(rounded.out[i], expected.out[i], 1e-5) << i;
  }
}

// Rotary embedding of rows by angles position / 100^(i / pairs), with complex numbers. Pair i is
// (i, i + pairs) or, interleaved, (2i, 2i + 1).
std::vector<float> rotated(const std::vector<float>& rows, int64_t features, bool interleaved,
                           const std::function<double(int64_t)>& position_of_row) {
  std::vector<float> result = rows;
  const int64_t pairs = features / 2;
  for (int64_t r = 0; r < static_cast<int64_t>(rows.size()) / features; ++r) {
    for (int64_t i = 0; i < pairs; ++i) {
      const auto a = static_cast<size_t>(r * features + (interleaved ? 2 * i : i));
      const size_t b = a + static_cast<size_t>(interleaved ? 1 : pairs);
      const double angle = position_of_row(r) *
                           std::pow(100.0, -static_cast<double>(i) / static_cast<double>(pairs));
      const std::complex<double> z =
          std::complex<double>(rows[a], rows[b]) * std::polar(1.0, angle);
      result[a] = static_cast<float>(z.real());
      result[b] = static_cast<float>(z.imag());
    }
  }
  return result;
}

Expr rotated_entry(const Row& row, Expr d, Expr position, bool interleaved) {
  const Expr pairs = row.size() / 2;
  const Expr i = interleaved ? d / 2 : d % pairs;
  const Expr first = interleaved ? d % 2 == 0 : d < pairs;
  const Expr partner =
      interleaved ? select(first, d + 1, d - 1) : select(first, d + pairs, d - pairs);
  const Expr angle = cast<float>(position) * pow(100.0f, -cast<float>(i) / cast<float>(pairs));
  return row(d) * cos(angle) + select(first, -row(partner), row(partner)) * sin(angle);
}

TEST(Transforms, RotaryEmbeddingInBothLayouts) {
  for (const bool interleaved : {false, true}) {
    const Variant rope = declared([=](Variant& v) {
      v.query([=](const Row& row, Expr d, const Position& p) {
        return rotated_entry(row, d, p.q, interleaved);
      });
      v.key([=](const Row& row, Expr d, const Position& p) {
        return rotated_entry(row, d, p.k, interleaved);
      });
    });
    Problem problem({.b = 2, .hq = 4, .hkv = 2, .sq = 3, .skv = 5, .d = 8, .dv = 2});
    fill(problem.q, 1);
    fill(problem.k, 2);
    fill(problem.v, 3);
    const std::vector<float> q = rotated(problem.q, 8, interleaved,
                                         [](int64_t r) { return static_cast<double>(r % 3 + 2); });
    const std::vector<float> k =
        rotated(problem.k, 8, interleaved, [](int64_t r) { return static_cast<double>(r % 5); });
    fovea_call prepared = problem.call;
    prepared.q.data = const_cast<float*>(q.data());
    prepared.k.data = const_cast<float*>(k.data());
    // The prepared rows are rounded to f32.
    expect_same_as_plain(rope, problem.call, {}, prepared, 1e-6);
  }
}

TEST(Transforms, QueryAndKeyNormalisation) {
  const Variant normalised = declared([](Variant& v) {
    const auto gain = v.table<float>("gain", {axis::feature});
    const auto rms = [](const Row& row, Expr d) {
      return row(d) / sqrt(row.mean_square() + 1e-6f);
    };
    v.query([=](const Row& row, Expr d, const Position&) { return rms(row, d) * gain(d); });
    v.key([=](const Row& row, Expr d, const Position&) { return rms(row, d); });
  });
  Problem problem({.hq = 2, .hkv = 1, .sq = 4, .skv = 6, .d = 4, .dv = 3});
  fill(problem.q, 1);
  fill(problem.k, 2);
  fill(problem.v, 3);
  const std::vector<float> gains = {1, 2, 0.5, -1};
  const auto prepare = [](std::vector<float> rows, const std::vector<float>& gain) {
    for (size_t r = 0; r < rows.size(); r += 4) {
      double squares = 0;
      for (size_t d = 0; d < 4; ++d) squares += std::pow(static_cast<double>(rows[r + d]), 2);
      const double norm = std::sqrt(squares / 4 + 1e-6);
      for (size_t d = 0; d < 4; ++d) {
        rows[r + d] = static_cast<float>(static_cast<double>(rows[r + d]) / norm *
                                         static_cast<double>(gain[d]));
      }
    }
    return rows;
  };
  std::vector<float> q = prepare(problem.q, gains), k = prepare(problem.k, {1, 1, 1, 1});
  fovea_call prepared = problem.call;
  prepared.q.data = q.data();
  prepared.k.data = k.data();
  expect_same_as_plain(normalised, problem.call, {{"gain", table_of(gains, {4})}}, prepared, 1e-6);
}

TEST(Transforms, RunInOrderEachOnTheRowsOfTheOneBefore) {
  const auto plus_one = [](const Row& row, Expr d, const Position&) { return row(d) + 1.0f; };
  const auto reversed = [](const Row& row, Expr d, const Position&) {
    return row(row.size() - 1 - d);
  };
  const auto first_of_two = [](const Row& row, Expr d, const Position&) {
    return row(d) * select(d == 0, 10.0f, 1.0f);
  };
  Problem problem({.skv = 1, .dv = 3});
  problem.v = {1, 2, 3};
  const auto values_of = [&](std::initializer_list<RowTransform> transforms) {
    const Variant v = declared([&](Variant& d) {
      for (const RowTransform& t : transforms) d.value(t);
    });
    return reference_attention(v, problem.call, {}).out;
  };
  using Rows = std::vector<double>;
  EXPECT_EQ(values_of({reversed}), (Rows{3, 2, 1}));
  EXPECT_EQ(values_of({reversed, first_of_two}), (Rows{30, 2, 1}));
  EXPECT_EQ(values_of({first_of_two, reversed}), (Rows{3, 2, 10}));
  EXPECT_EQ(values_of({first_of_two, plus_one, plus_one}), (Rows{12, 4, 5}));
}

TEST(Transforms, SeeTheirOwnPlace) {
  // out = value transform + output transform: each digit is one field.
  const Variant v = declared([](Variant& d) {
    d.value([](const Row& row, Expr, const Position& p) {
      return row(0) + cast<float>(p.k + 10 * p.kv_head + 100 * p.batch);
    });
    d.output([](const Row& row, Expr, const Position& p) {
      return row(0) + cast<float>(1000 * p.row + 10000 * p.q + 100000 * p.head);
    });
    d.keep([](const Position& p) { return p.k == p.row; });
  });
  Problem problem({.b = 2, .hq = 2, .hkv = 2, .sq = 2, .skv = 3});
  expect_rows(v, problem.call, {10000, 21001, 110010, 121011, 10100, 21101, 110110, 121111});
}

TEST(Transforms, ScaleAppliesToTheTransformedProduct) {
  const Variant doubled = declared([](Variant& v) {
    v.query([](const Row& row, Expr d, const Position&) { return row(d) * 2.0f; });
    v.score([](Expr s, const Position&) { return s + 1.0f; });
  });
  Problem problem({.d = 4});
  problem.q = {1, 1, 1, 1};
  problem.k = {1, 2, 3, 4};
  EXPECT_EQ(reference_attention(doubled, problem.call, {}).lse[0], 10 * 2 * 0.5 + 1);
}

TEST(Transforms, KeysAreSharedByTheQueriesOfTheirHead) {
  const Variant v = declared([](Variant& d) {
    const auto scale = d.table<float>("scale", {axis::key});
    d.key([=](const Row& row, Expr f, const Position& p) { return row(f) * scale(p.k); });
  });
  Problem problem({.hq = 6, .hkv = 2, .sq = 5, .skv = 4});
  fill(problem.q, 1);
  fill(problem.k, 2);
  fill(problem.v, 3);
  const std::vector<float> scales = {1, 2, 3, 4};
  std::vector<float> k = problem.k;
  for (size_t i = 0; i < k.size(); ++i) k[i] *= scales[i % 4];
  fovea_call prepared = problem.call;
  prepared.k.data = k.data();
  expect_same_as_plain(v, problem.call, {{"scale", table_of(scales, {4})}}, prepared, 1e-6);
}

TEST(Transforms, HiddenRowsHaveNoEffect) {
  const Variant v = declared([](Variant& d) {
    d.key([](const Row& row, Expr f, const Position&) {
      return row(f) / row.largest([&](Expr j) { return abs(row(j)); });
    });
    d.value([](const Row& row, Expr f, const Position&) { return row(f) / row.mean_square(); });
    d.keep(masks::causal());
  });
  Problem problem({.sq = 2, .skv = 2, .dv = 2});
  problem.k = {1, nan};
  problem.v = {1, 1, nan, inf};
  const ReferenceResult r = reference_attention(v, problem.call, {});
  EXPECT_EQ(r.out[0], 1);
  EXPECT_EQ(r.out[1], 1);
  EXPECT_TRUE(std::isnan(r.out[2]) && std::isnan(r.out[3]));
}

TEST(Transforms, OutputGateAndEmptyRows) {
  const Variant v = declared([](Variant& d) {
    const auto gate =
        d.table<float>("gate", {axis::batch, axis::head, axis::row, axis::value_feature});
    d.output([=](const Row& row, Expr f, const Position& p) {
      return row(f) * sigmoid(gate(p.batch, p.head, p.row, f)) + 1.0f;
    });
    d.keep(masks::causal());
  });
  Problem problem({.sq = 2, .skv = 1, .dv = 2});
  problem.v = {2, 4};
  const std::vector<float> gates = {0, 1, 0, 2};
  const ReferenceResult r =
      reference_attention(v, problem.call, {{"gate", table_of(gates, {1, 1, 2, 2})}});
  // The first row sees no key: the transform sees zeros.
  EXPECT_EQ(r.out[0], 1);
  EXPECT_EQ(r.out[1], 1);
  EXPECT_DOUBLE_EQ(r.out[2], 1 + 2 * 0.5);
  EXPECT_DOUBLE_EQ(r.out[3], 1 + 4 / (1 + std::exp(-2.0)));
}

TEST(Transforms, ReductionsMayDependOnTheFeature) {
  // A matrix times the row: out[d] = sum_j (j + 10 d) row[j].
  const Variant v = declared([](Variant& d) {
    d.output([](const Row& row, Expr f, const Position&) {
      return row.sum([&](Expr j) { return cast<float>(j + 10 * f) * row(j); });
    });
  });
  Problem problem({.dv = 3});
  problem.v = {1, 2, 4};
  expect_rows(v, problem.call, {10, 10 + 70, 10 + 140});
}

TEST(Tables, OfBoolHoldOneByteAnEntry) {
  const Variant v = declared([](Variant& d) {
    const auto allowed = d.table<bool>("allowed", {axis::row, axis::key});
    d.keep([=](const Position& p) { return allowed(p.row, p.k); });
  });
  const std::vector<uint8_t> entries = {1, 0, 0, /**/ 0, 2, 255};  // any byte but 0 is true
  const auto problem = counting(2, 3);
  const int32_t offset = 100;
  problem->call.q_offset = &offset;
  expect_rows(v, problem->call, {1, 2.5}, {{"allowed", table_of(entries, {2, 3})}});
}

TEST(Tables, ExtentsAreThoseOfTheCall) {
  const Variant v = declared([](Variant& d) {
    const auto bias = d.table<float>("bias", {axis::head, axis::any});
    d.score([=](Expr s, const Position& p) {
      return s + bias(p.head, bias.extent(1) - 1) + 100.0f * cast<float>(bias.extent(0));
    });
  });
  const std::vector<float> entries = {1, 2, 3, 4, 5, 6};
  Problem problem({.hq = 2});
  EXPECT_EQ(reference_attention(v, problem.call, {{"bias", table_of(entries, {2, 3})}}).lse,
            (std::vector<double>{203, 206}));
  EXPECT_EQ(reference_attention(v, problem.call, {{"bias", table_of(entries, {3, 2})}}).lse,
            (std::vector<double>{302, 304}));
}

TEST(Tables, IntegersAreClampedAsKernelsClampThem) {
  const Variant v = declared([](Variant& d) {
    const auto n = d.table<int>("n", {axis::head});
    d.score([=](Expr s, const Position& p) { return s + cast<float>(n(p.head)); });
  });
  const std::vector<int32_t> entries = {INT32_MAX, INT32_MIN};
  Problem problem({.hq = 2});
  EXPECT_EQ(reference_attention(v, problem.call, {{"n", table_of(entries, {2})}}).lse,
            (std::vector<double>{1 << 30, -(1 << 30)}));
}

TEST(Slices, AreSoftmaxesOfTheirOwn) {
  // Differential attention: the difference of two softmaxes over halves of q and k.
  const Variant v = declared([](Variant& d) {
    const auto lambda = d.scalar<float>("lambda");
    d.slices(2, [=](const std::vector<Expr>& o, const Position&) { return o[0] - lambda * o[1]; });
    d.keep(masks::causal());
  });
  Problem problem({.b = 2, .hq = 4, .hkv = 2, .sq = 5, .skv = 7, .d = 6, .dv = 2});
  fill(problem.q, 1);
  fill(problem.k, 2);
  fill(problem.v, 3);
  const auto half = [&](int64_t i) {
    fovea_call call = problem.call;
    for (fovea_tensor* t : {&call.q, &call.k}) {
      t->data = static_cast<float*>(t->data) + 3 * i;
      t->extent[3] = 3;
    }
    return reference_attention(masked(masks::causal()), call, {}).out;
  };
  const std::vector<double> first = half(0), second = half(1);
  const ReferenceResult r = reference_attention(v, problem.call, {{"lambda", scalar_of(0.75)}});
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(r.out[i], first[i] - 0.75 * second[i], 1e-15) << i;
    EXPECT_TRUE(std::isnan(r.lse[i / 2]));
  }
}

TEST(Slices, TransformsSeeTheWholeRowAndTheCombinedOutput) {
  const Variant v = declared([](Variant& d) {
    d.query([](const Row& row, Expr f, const Position&) { return row(row.size() - 1 - f); });
    d.slices(2, [](const std::vector<Expr>& o, const Position& p) {
      return o[0] * 10.0f + o[1] + cast<float>(p.row);
    });
    d.output([](const Row& row, Expr f, const Position&) { return row(f) + row(1 - f); });
  });
  // Swapped, the query is (100, 0): the first slice picks key 0, the second one is the mean.
  Problem problem({.skv = 2, .d = 2, .dv = 2});
  problem.q = {0, 1000};
  problem.k = {1, 0, -1, 0};
  problem.v = {1, 2, 3, 6};
  expect_rows(v, problem.call, {10 + 2 + 20 + 4, 10 + 2 + 20 + 4});
  // Empty rows are zeros in every slice.
  Variant empty = v;
  empty.keep(!masks::full());
  expect_rows(empty, problem.call, {0, 0});
}

TEST(Slices, DivideTheFeaturesEvenly) {
  const Variant v = declared([](Variant& d) {
    d.slices(3, [](const std::vector<Expr>& o, const Position&) { return o[0] + o[1] + o[2]; });
  });
  Problem problem({.d = 8});
  try {
    reference_attention(v, problem.call, {});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "fovea: variant 'sample' cuts rows into 3 equal slices, and d_qk is 8");
  }
}

TEST(Magnitudes, AreSumsWithoutSigns) {
  ReferenceOptions options;
  options.magnitudes = true;
  Problem problem({.skv = 2, .dv = 2});
  problem.q = {2};
  problem.k = {-3, -3};
  problem.v = {1, 4, -3, 4};
  const ReferenceResult r = reference_attention(plain(), problem.call, {}, options);
  EXPECT_EQ(r.out, (std::vector<double>{-1, 4}));
  EXPECT_EQ(r.out_magnitude, (std::vector<double>{2, 4}));
  EXPECT_DOUBLE_EQ(r.score_magnitude[0], 6 - std::log(2.0));
  EXPECT_EQ(r.product_magnitude, 6);
  // A weight that passes through 0 still moves with its score.
  const Variant linear = declared([](Variant& v) { v.normalize(identity()); });
  problem.k = {0, 0};
  const ReferenceResult zero = reference_attention(linear, problem.call, {}, options);
  EXPECT_EQ(zero.out, (std::vector<double>{0, 0}));
  EXPECT_NEAR(zero.out_magnitude[0], 4, 1e-9);
  EXPECT_NEAR(zero.out_magnitude[1], 8, 1e-9);
  // Through an epilogue: |2 o_0 - o_1| may move by 2 m_0 + m_1.
  const Variant mixed = declared([](Variant& v) {
    v.output([](const Row& row, Expr, const Position&) { return 2.0f * row(0) - row(1); });
  });
  const ReferenceResult out = reference_attention(mixed, problem.call, {}, options);
  EXPECT_EQ(out.out[0], -6);
  EXPECT_NEAR(out.out_magnitude[0], 6 + 2 * 2 + 4, 1e-9);
}

}  // namespace
}  // namespace fovea
