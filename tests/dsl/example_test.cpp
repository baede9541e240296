// example_test.cpp: example values of parameters: defaults, ranges, extents, layout.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/example.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace fovea {
namespace {

constexpr ExampleShape shape = {
    .batch = 2, .heads = 6, .kv_heads = 3, .q_len = 4, .kv_len = 9, .d_qk = 5, .d_v = 7};

template <typename T>
std::vector<T> entries(const ParameterValue& value, size_t count) {
  std::vector<T> result(count);
  std::memcpy(result.data(), value.table.data, count * sizeof(T));
  return result;
}

TEST(Example, AScalarWithoutOneIsTheValueClosestToOne) {
  Variant v("sample");
  v.scalar<float>("free");
  v.scalar<float>("positive").positive();
  v.scalar<int>("two").at_least(2);
  v.scalar<int>("negative").at_most(-3);
  v.scalar<int>("count").positive();
  const ExampleParameters example(v, shape);
  EXPECT_EQ(example.values().at("free").scalar, 1);
  EXPECT_EQ(example.values().at("positive").scalar, 1);
  EXPECT_EQ(example.values().at("two").scalar, 2);
  EXPECT_EQ(example.values().at("negative").scalar, -3);
  EXPECT_EQ(example.values().at("count").scalar, 1);
}

TEST(Example, AnExcludedBoundIsNeverTaken) {
  Variant v("sample");
  v.scalar<float>("above").positive();
  // positive() excludes 0 only; the rule must hold for any bound.
  Parameter& parameter = *v.parameters()[0];
  parameter.minimum = 2;
  EXPECT_EQ(ExampleParameters(v, shape).values().at("above").scalar, 3);
  parameter.maximum = 2.5;
  EXPECT_EQ(ExampleParameters(v, shape).values().at("above").scalar, 2.25);
}

TEST(Example, GivenValuesMayDependOnTheShape) {
  Variant v("sample");
  v.scalar<float>("rate").between(0, 1).example(0.1f);
  v.scalar<int>("half").at_least(1).example(
      [](const ExampleShape& s) { return static_cast<double>(s.kv_len / 2); });
  const ExampleParameters example(v, shape);
  EXPECT_EQ(example.values().at("rate").scalar, static_cast<double>(0.1f));
  EXPECT_EQ(example.values().at("half").scalar, 4);
}

TEST(Example, AValueOutsideOfItsRangeIsRefused) {
  const auto refused = [](const char* name, auto declare) {
    Variant v("sample");
    declare(v, name);
    try {
      const ExampleParameters example(v, shape);
    } catch (const DeclarationError& error) {
      EXPECT_EQ(error.variant(), "sample");
      EXPECT_EQ(error.field(), std::string("example of '") + name + "'");
      return;
    }
    FAIL() << name << " was accepted";
  };
  refused("large", [](Variant& v, const char* n) { v.scalar<float>(n).at_most(2).example(2.5f); });
  refused("zero", [](Variant& v, const char* n) { v.scalar<float>(n).positive().example(0); });
  refused("nan", [](Variant& v, const char* n) {
    v.scalar<float>(n).example(std::numeric_limits<float>::quiet_NaN());
  });
  refused("fraction", [](Variant& v, const char* n) {
    v.scalar<int>(n).example([](const ExampleShape&) { return 1.5; });
  });
  Variant v("sample");
  v.table<int>("empty", {axis::any}).example_extent([](const ExampleShape&) { return 0; });
  EXPECT_THROW(ExampleParameters(v, shape), DeclarationError);
}

TEST(Example, TablesCoverTheCall) {
  const std::pair<Axis, int64_t> expected[] = {
      {Axis(11), 11},     {axis::batch, 2},         {axis::head, 6},     {axis::kv_head, 3},
      {axis::query, 9},   {axis::key, 9},           {axis::position, 9}, {axis::row, 4},
      {axis::feature, 5}, {axis::value_feature, 7}, {axis::any, 1}};
  for (const auto& [kind, extent] : expected) {
    Variant v("sample");
    v.table<float>("t", {kind, Axis(2)});
    const ExampleParameters example(v, shape);
    const fovea_table& table = example.values().at("t").table;
    EXPECT_EQ(table.extent[0], extent);
    EXPECT_EQ(table.stride[0], 2);
    EXPECT_EQ(table.extent[1], 2);
    EXPECT_EQ(table.stride[1], 1);
    EXPECT_EQ(table.extent[2], 0);
  }
}

TEST(Example, TableEntries) {
  Variant v("sample");
  v.table<float>("zero", {Axis(3)});
  v.table<int>("none", {Axis(3)});
  v.table<bool>("all", {Axis(3)});
  v.table<float>("grid", {axis::batch, axis::any})
      .example([](const ExampleShape& s, const std::vector<int64_t>& i) {
        return static_cast<double>(100 * s.heads + 10 * i[0] + i[1]);
      })
      .example_extent([](const ExampleShape& s) { return s.kv_heads; });
  v.table<bool>("odd", {Axis(4)}).example([](const ExampleShape&, const std::vector<int64_t>& i) {
    return i[0] % 2 ? 7.0 : 0.0;
  });
  const ExampleParameters example(v, shape);
  EXPECT_EQ(entries<float>(example.values().at("zero"), 3), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(entries<int32_t>(example.values().at("none"), 3), (std::vector<int32_t>{0, 0, 0}));
  EXPECT_EQ(entries<uint8_t>(example.values().at("all"), 3), (std::vector<uint8_t>{1, 1, 1}));
  EXPECT_EQ(entries<float>(example.values().at("grid"), 6),
            (std::vector<float>{600, 601, 602, 610, 611, 612}));
  EXPECT_EQ(entries<uint8_t>(example.values().at("odd"), 4), (std::vector<uint8_t>{0, 1, 0, 1}));
}

TEST(Example, TheBlockIsTheGeneratedStructure) {
  struct Params {
    int32_t window;
    fovea_table slope;
    float softcap;
  };
  Variant v("sample");
  v.scalar<int>("window").example(5);
  v.table<float>("slope", {axis::head});
  v.scalar<float>("softcap").example(0.5f);
  ExampleParameters first(v, shape);
  const ExampleParameters example = std::move(first);  // memory stays where the values point
  Params params{};
  std::memcpy(static_cast<void*>(&params), example.data(),
              offsetof(Params, softcap) + sizeof(params.softcap));
  EXPECT_EQ(params.window, 5);
  EXPECT_EQ(params.slope.data, example.values().at("slope").table.data);
  EXPECT_EQ(params.slope.extent[0], 6);
  EXPECT_EQ(params.softcap, 0.5f);
  const ParameterValues read = parameter_values(v, example.data());
  EXPECT_EQ(read.at("window").scalar, 5);
  EXPECT_EQ(read.at("slope").table.data, params.slope.data);
  EXPECT_EQ(read.at("softcap").scalar, 0.5);
  EXPECT_EQ(ExampleParameters(Variant("plain"), shape).data(), nullptr);
}

}  // namespace
}  // namespace fovea
