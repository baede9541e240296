// library_plan_test.cpp: requests, the kernels they turn into, and what a bad one is told.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "generators/emit/library_spec.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;

std::vector<Variant> variants_named(const std::vector<std::string>& names) {
  // Each means something else: kernels of one meaning are compiled once.
  std::vector<Variant> variants;
  for (const std::string& name : names) {
    const auto factor = static_cast<float>(variants.size() + 2);
    variants.emplace_back(name).score([=](Expr s, const Position&) { return s * factor; });
  }
  return variants;
}

LibraryRequest good_request() {
  return {"my_attention", {"causal"}, {"x86-avx2"}, {"f32"}, {"64", "192/128"}, {"prefill"}};
}

// Changes the good request in one point and returns what is said about it.
std::string refusal(const std::function<void(LibraryRequest&)>& change,
                    const std::vector<std::string>& declared = {"causal", "full"}) {
  LibraryRequest request = good_request();
  change(request);
  try {
    plan_library(request, variants_named(declared));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LibraryPlan, HoldsEveryCombinationOnce) {
  LibraryRequest request = good_request();
  request.variants = {"full", "causal"};
  request.targets = {"x86-avx512", "x86-sse41"};
  const LibraryPlan plan = plan_library(request, variants_named({"causal", "full", "other"}));
  std::vector<std::string> symbols;
  for (const PlannedKernel& k : plan.kernels) {
    EXPECT_EQ(plan.variants.at(k.variant).name(), k.spec.variant);
    symbols.push_back(k.symbol);
  }
  // The runtime looks for the kernels of a variant in one place.
  EXPECT_TRUE(std::is_sorted(plan.kernels.begin(), plan.kernels.end(),
                             [](const auto& a, const auto& b) { return a.variant < b.variant; }));
  // In the order of the request: what is generated from the list is the same in every build.
  EXPECT_EQ(symbols, (std::vector<std::string>{
                         "my_attention__fovea_prefill__full__f32__d64__x86_avx512",
                         "my_attention__fovea_prefill__full__f32__d64__x86_sse41",
                         "my_attention__fovea_prefill__full__f32__d192x128__x86_avx512",
                         "my_attention__fovea_prefill__full__f32__d192x128__x86_sse41",
                         "my_attention__fovea_prefill__causal__f32__d64__x86_avx512",
                         "my_attention__fovea_prefill__causal__f32__d64__x86_sse41",
                         "my_attention__fovea_prefill__causal__f32__d192x128__x86_avx512",
                         "my_attention__fovea_prefill__causal__f32__d192x128__x86_sse41",
                     }));
}

TEST(LibraryPlan, KernelsOfTheSameCodeAreCompiledOnce) {
  Variant plain("plain"), alias("alias"), causal("causal"), turned("turned"), also("also_turned");
  causal.keep(masks::last_tokens(causal.scalar<int>("window")));
  for (Variant* v : {&turned, &also}) {
    const auto limit = v->scalar<int>("limit");
    const auto angle = v->table<float>("angle", {axis::position, axis::feature});
    v->key([=](const Row& row, Expr d, Position p) { return row(d) * angle(p.k, d); });
    const bool of_keys = v == &turned;
    v->keep([=](Position p) { return of_keys ? p.k < limit : p.q < limit; });
  }
  const LibraryPlan plan = plan_library(
      {"l", {}, {"x86-avx2"}, {"f32"}, {"64"}, {"prefill", "decode", "append"}, {"none", "int8"}},
      {plain, alias, causal, turned, also});
  std::vector<std::string> compiled;
  std::set<std::string> names;
  for (const PlannedKernel& k : plan.kernels) {
    names.insert(kernel_name(k.spec));
    EXPECT_EQ(k.is_copy, k.symbol != "l__" + kernel_name(k.spec));
    if (!k.is_copy && k.spec.cache == "int8")
      compiled.push_back(k.spec.pass + " " + k.spec.variant);
  }
  EXPECT_EQ(names.size(), plan.kernels.size());
  EXPECT_EQ(plan.kernels.size(), 5 * 5u);
  EXPECT_EQ(compiled, (std::vector<std::string>{"prefill plain", "decode plain", "append plain",
                                                "prefill causal", "decode causal", "prefill turned",
                                                "decode turned", "append turned",
                                                "prefill also_turned", "decode also_turned"}));
  // Every compiled kernel is declared and defined once.
  const std::string registry = registry_source(plan);
  for (const char* text :
       {"int l__fovea_append__plain__f32__cache_int8__d64__x86_avx2_argv(",
        "fovea_decode_info l__fovea_decode__plain__f32__d64__x86_avx2_decode "}) {
    const size_t at = registry.find(text);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(registry.find(text, at + 1), std::string::npos) << text;
  }
  EXPECT_EQ(registry.find("l__fovea_decode__alias"), std::string::npos);
  // What the transforms ask for: the angle, not the limit.
  EXPECT_THAT(registry, HasSubstr("parameters_of_turned, 2, 0, 1, 2}"));
  EXPECT_THAT(registry, HasSubstr("parameters_of_causal, 1, 0, 1, 0}"));
}

TEST(LibraryPlan, DefaultsAreAllVariantsAndTargets) {
  LibraryRequest request = good_request();
  request.variants.clear();
  request.targets.clear();
  request.head_dims = {"64"};
  const LibraryPlan plan = plan_library(request, variants_named({"causal", "full"}));
  EXPECT_EQ(plan.variants.size(), 2u);
  // Those for native bf16 have no kernels of other types.
  std::vector<std::string> names;
  for (const TargetRow* row : plan.targets) names.push_back(row->name);
  EXPECT_EQ(names, (std::vector<std::string>{"x86-sse41", "x86-avx2", "x86-avx512"}));
  EXPECT_EQ(plan.kernels.size(), 2 * 3u);
}

TEST(LibraryPlan, TargetsAreOfTheTypesAskedFor) {
  EXPECT_EQ(refusal([](auto& r) { r.targets = {"x86-avx512", "x86-avx512-bf16-amd"}; }),
            "target 'x86-avx512-bf16-amd': allowed is only with dtype bf16, which is not among "
            "f32");
  // Of several types, each target has the kernels that it is for.
  LibraryRequest request = good_request();
  request.targets = {"x86-avx512-bf16-amd", "x86-avx512"};
  request.dtypes = {"f32", "bf16"};
  request.head_dims = {"64"};
  std::vector<std::string> kernels;
  for (const PlannedKernel& k : plan_library(request, variants_named({"causal"})).kernels)
    kernels.push_back(kernel_name(k.spec));
  EXPECT_EQ(kernels, (std::vector<std::string>{
                         "fovea_prefill__causal__f32__d64__x86_avx512",
                         "fovea_prefill__causal__bf16__d64__x86_avx512_bf16_amd",
                         "fovea_prefill__causal__bf16__d64__x86_avx512",
                     }));
  request.targets.clear();
  const LibraryPlan plan = plan_library(request, variants_named({"causal"}));
  EXPECT_EQ(plan.targets.size(), 5u);
  EXPECT_EQ(plan.kernels.size(), 3 + 5u);
}

TEST(LibraryPlan, TargetsAreOfOneArchitecture) {
  LibraryRequest request = good_request();
  request.architecture = "arm64";
  request.targets.clear();
  request.dtypes = {"f32", "f16"};
  std::vector<std::string> names;
  for (const TargetRow* row : plan_library(request, variants_named({"causal"})).targets)
    names.push_back(row->name);
  EXPECT_EQ(names, (std::vector<std::string>{"arm64-neon", "arm64-neon-fp16"}));
  EXPECT_EQ(refusal([](auto& r) {
              r.architecture = "arm64";
              r.targets = {"x86-avx2"};
            }),
            "target 'x86-avx2' is for x86: allowed are targets of one architecture, here arm64");
  EXPECT_EQ(refusal([](auto& r) { r.architecture = "sparc"; }),
            "architecture 'sparc': allowed is one of x86, arm64");
}

TEST(LibraryPlan, HeadDimensions) {
  EXPECT_EQ(parse_head_dims("64"), std::pair(64, 64));
  EXPECT_EQ(parse_head_dims("192/128"), std::pair(192, 128));
  EXPECT_EQ(parse_head_dims("1/1024"), std::pair(1, 1024));
  for (const char* text : {"", "0", "-64", "+64", "1025", "64/", "/64", "64/0", "64//64", "64x64",
                           "64 ", " 64", "sixty", "6e1", "64/128/64", "99999999999"}) {
    EXPECT_EQ(
        refusal([&](auto& r) { r.head_dims = {"32", text}; }),
        std::string("head dimension '") + text + "': allowed is D or D_QK/D_V, each 1 to 1024");
  }
}

TEST(LibraryPlan, NamesAreIdentifiers) {
  for (const char* name : {"", "9lives", "my-attention", "my attention", "caf\xc3\xa9", "a.b"}) {
    const std::string text = refusal([&](auto& r) { r.name = name; });
    EXPECT_THAT(text, HasSubstr(std::string("library name '") + name + "': allowed is "));
    EXPECT_THAT(text, HasSubstr("letters, digits and underscores, no digit first"));
  }
  for (const char* name : {"int", "namespace", "fovea", "std", "_mine", "my__attention", "linux"}) {
    const std::string text = refusal([&](auto& r) { r.name = name; });
    EXPECT_THAT(text, HasSubstr(std::string("library name '") + name + "': allowed is "));
    EXPECT_THAT(text, HasSubstr("C, C++ and fovea itself do not use"));
  }
  EXPECT_EQ(refusal([](auto& r) { r.name = "MyAttention2"; }), "accepted");
}

TEST(LibraryPlan, UnknownValuesAreNamedWithWhatIsAllowed) {
  EXPECT_EQ(
      refusal([](auto& r) { r.variants = {"causal", "casual"}; }),
      "variant 'casual': allowed is one of the declared: causal, full; did you mean 'causal'?");
  EXPECT_EQ(refusal([](auto& r) { r.targets = {"x86-avx3"}; }),
            "target 'x86-avx3': allowed is one of x86-sse41, x86-avx2, x86-avx512, "
            "x86-avx512-bf16-intel, x86-avx512-bf16-amd, arm64-neon, arm64-neon-fp16, opencl, "
            "cuda-sm70, cuda-sm80, cuda-sm86; did you mean 'x86-avx2'?");
  EXPECT_EQ(refusal([](auto& r) { r.dtypes = {"f32", "int8"}; }),
            "dtype 'int8': allowed is one of f32, f16, bf16");
  EXPECT_EQ(refusal([](auto& r) { r.passes = {"backward"}; }),
            "pass 'backward': allowed is one of prefill, decode, append");
  EXPECT_EQ(refusal([](auto& r) { r.caches = {"int3"}; }),
            "cache 'int3': allowed is one of none, same, int8, int4, e4m3, e5m2");
  EXPECT_THAT(refusal([](auto&) {}, {}), HasSubstr("no variant is declared"));
}

TEST(LibraryPlan, EmptyListsAreNamed) {
  EXPECT_EQ(refusal([](auto& r) { r.dtypes.clear(); }), "dtype '': allowed is at least one value");
  EXPECT_EQ(refusal([](auto& r) { r.passes.clear(); }), "pass '': allowed is at least one value");
  EXPECT_EQ(refusal([](auto& r) { r.caches.clear(); }), "cache '': allowed is at least one value");
  EXPECT_EQ(refusal([](auto& r) { r.head_dims.clear(); }),
            "head dimension '': allowed is at least one value");
}

TEST(LibraryPlan, DuplicatesAreNamed) {
  const std::string once = ": allowed is each value once";
  EXPECT_EQ(refusal([](auto& r) { r.variants = {"full", "causal", "full"}; }),
            "variant 'full'" + once);
  EXPECT_EQ(refusal([](auto& r) { r.targets = {"x86-avx2", "x86-avx2"}; }),
            "target 'x86-avx2'" + once);
  EXPECT_EQ(refusal([](auto& r) { r.dtypes = {"f32", "f32"}; }), "dtype 'f32'" + once);
  EXPECT_EQ(refusal([](auto& r) { r.passes = {"prefill", "prefill"}; }), "pass 'prefill'" + once);
  EXPECT_EQ(refusal([](auto& r) { r.caches = {"same", "same"}; }), "cache 'same'" + once);
  EXPECT_EQ(refusal([](auto& r) { r.head_dims = {"64", "64/64"}; }),
            "head dimension '64/64'" + once);
}

// Each kind of cache in kernels of its own, and a kernel that appends to it.
TEST(LibraryPlan, Caches) {
  LibraryRequest request = good_request();
  request.variants = {"causal"};
  request.targets = {"x86-avx2"};
  request.dtypes = {"f32"};
  request.head_dims = {"64"};
  request.passes = {"decode", "append"};
  request.caches = {"none", "int8"};
  std::vector<std::string> names;
  const LibraryPlan plan = plan_library(request, variants_named({"causal"}));
  for (const PlannedKernel& k : plan.kernels) names.push_back(kernel_name(k.spec));
  EXPECT_THAT(names, testing::ElementsAre("fovea_decode__causal__f32__d64__x86_avx2",
                                          "fovea_decode__causal__f32__cache_int8__d64__x86_avx2",
                                          "fovea_append__causal__f32__cache_int8__d64__x86_avx2"));
  EXPECT_TRUE(has_caches(plan));
  request.caches = {"none"};
  EXPECT_FALSE(has_caches(plan_library(request, variants_named({"causal"}))));
}

// All passes, with caches and without; a decode kernel of a device has no range.
TEST(LibraryPlan, Devices) {
  LibraryRequest request = good_request();
  request.variants = {"causal"};
  request.targets = {"x86-avx2", "opencl"};
  request.dtypes = {"f32"};
  request.head_dims = {"64"};
  request.passes = {"prefill", "decode", "append"};
  request.caches = {"none", "int8"};
  std::vector<std::string> names;
  const LibraryPlan plan = plan_library(request, variants_named({"causal"}));
  for (const PlannedKernel& k : plan.kernels) {
    if (k.spec.target == "opencl") names.push_back(kernel_name(k.spec));
  }
  EXPECT_THAT(names, testing::ElementsAre("fovea_prefill__causal__f32__d64__opencl",
                                          "fovea_prefill__causal__f32__cache_int8__d64__opencl",
                                          "fovea_decode__causal__f32__d64__opencl",
                                          "fovea_decode__causal__f32__cache_int8__d64__opencl",
                                          "fovea_append__causal__f32__cache_int8__d64__opencl"));
  const std::string registry = registry_source(plan);
  EXPECT_THAT(registry,
              HasSubstr("my_attention__fovea_decode__causal__f32__d64__opencl_parts, nullptr, "
                        "&my_attention__fovea_decode__causal__f32__d64__opencl_finish_argv}"));
  EXPECT_EQ(registry.find("opencl_range"), std::string::npos);
}

TEST(LibraryPlan, FourBitsWantPairsOfSixteenFeatures) {
  EXPECT_EQ(refusal([](auto& r) {
              r.caches = {"int4"};
              r.head_dims = {"64", "80"};
            }),
            "head dimension '80/80': allowed is multiples of 32 with cache int4, whose bytes hold "
            "features 16 apart");
}

// Variants whose generated functions, types or structures would share a name.
TEST(LibraryPlan, GeneratedNamesDoNotCollide) {
  const auto all = [](auto& r) { r.variants.clear(); };
  for (const std::string suffix : {"_params", "_workspace", "_explain"}) {
    const std::string text = refusal(all, {"causal", "causal" + suffix});
    EXPECT_THAT(text, HasSubstr("variant 'causal" + suffix + "': allowed is "));
    EXPECT_THAT(text, HasSubstr("belong to variant causal already"));
  }
  EXPECT_THAT(refusal(all, {"library"}), HasSubstr("variant 'library': allowed is "));
  for (const std::string name : {"run", "workspace", "explain", "fovea", "std"})
    EXPECT_THAT(refusal(all, {name}), HasSubstr("variant '" + name + "': allowed is "));
  // Only those that are built count.
  EXPECT_EQ(refusal([](auto& r) { r.variants = {"causal"}; }, {"causal", "causal_params"}),
            "accepted");
}

// Slices of a row are equal: a head dimension that does not divide into them has no kernel.
TEST(LibraryPlan, SlicesDivideTheFeaturesOfQueryAndKey) {
  Variant thirds("thirds");
  thirds.slices(3, [](const std::vector<Expr>& o, const Position&) { return o[0] + o[1] * o[2]; });
  LibraryRequest request = good_request();
  request.variants = {"thirds"};
  request.head_dims = {"48/64", "96"};
  EXPECT_EQ(plan_library(request, {thirds}).kernels.size(), 2u);
  request.head_dims = {"96", "64/96"};
  try {
    plan_library(request, {thirds});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "head dimension '64/96': allowed is a d_qk that is a multiple of 3, the slices of "
                 "variant thirds");
  }
}

TEST(LibraryPlan, OutputsAreNamedInTheOrderOfTheKernels) {
  Variant v("several");
  v.returns(probabilities);
  v.returns(row_max);
  v.returns(lse);
  EXPECT_EQ(output_names(v), (std::vector<std::string>{"lse", "row_max", "probabilities"}));
  EXPECT_TRUE(output_names(Variant("plain")).empty());
}

}  // namespace
}  // namespace fovea
