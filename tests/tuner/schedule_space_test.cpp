// schedule_space_test.cpp: what the search may try.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/schedule_space.h"

#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "generators/tuner/static_trials.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;

Variant plain() { return Variant("plain"); }

Variant causal() {
  Variant v("causal");
  v.keep(masks::causal());
  return v;
}

void check_schedule(const KernelSpec& spec, const Variant& v, const KernelSchedule& schedule) {
  if (const auto* prefill = std::get_if<PrefillCpuSchedule>(&schedule)) {
    check(*prefill, v, element_of(spec.dtype), spec.d_qk, spec.d_v, cache_kind_of(spec.cache));
  } else {
    check(std::get<DecodeCpuSchedule>(schedule));
  }
}

// Every kernel of two variants: all targets, types, caches and some head dimensions.
template <typename F>
void for_each_kernel(F&& f) {
  const Variant variants[] = {plain(), causal()};
  for (const char* pass : {"prefill", "decode"}) {
    for (const Variant& v : variants) {
      for (const TargetRow& target : target_table()) {
        const std::string architecture = target.architecture;
        if (architecture != "x86" && architecture != "arm64") continue;
        for (const std::string& dtype : target.dtypes) {
          for (const char* cache : {"none", "same", "int8"}) {
            for (const auto& [d_qk, d_v] : {std::pair{64, 64}, {192, 128}, {7, 6}}) {
              f(KernelSpec{pass, v.name(), dtype, d_qk, d_v, target.name, cache}, v);
            }
          }
        }
      }
    }
  }
}

TEST(ScheduleSpace, EveryPointMayBeCompiledAndIsThereOnce) {
  for_each_kernel([](const KernelSpec& spec, const Variant& v) {
    SCOPED_TRACE(kernel_name(spec));
    const ScheduleSpace space = schedule_space(spec, v);
    ASSERT_GT(space.size(), 100u);
    EXPECT_TRUE(std::is_sorted(space.points().begin(), space.points().end()));
    EXPECT_EQ(std::adjacent_find(space.points().begin(), space.points().end()),
              space.points().end());
    // Texts are slow to make: of large spaces a part, spread evenly.
    const size_t step = std::max<size_t>(1, space.size() / 100);
    for (size_t i = 0; i < space.size(); i += step) {
      const KernelSchedule schedule = space.schedule(space.points()[i]);
      ASSERT_NO_THROW(check_schedule(spec, v, schedule)) << text_of(schedule);
      EXPECT_EQ(space.point_of(schedule), space.points()[i]);
    }
  });
}

TEST(ScheduleSpace, TheDocumentedDefaultIsInIt) {
  for_each_kernel([](const KernelSpec& spec, const Variant& v) {
    SCOPED_TRACE(kernel_name(spec));
    const ScheduleSpace space = schedule_space(spec, v);
    EXPECT_TRUE(space.contains(space.usual()));
    const Element element = element_of(spec.dtype);
    const CacheKind cache = cache_kind_of(spec.cache);
    const TargetRow& target = *find_target(spec.target);
    const std::string usual =
        spec.pass == "prefill"
            ? default_prefill_schedule(target, v, element, spec.d_qk, spec.d_v, cache).text()
            : default_decode_schedule(target, v, element, spec.d_qk, spec.d_v, cache).text();
    EXPECT_EQ(text_of(space.schedule(space.usual())), usual);
  });
}

TEST(ScheduleSpace, PrefillOnCpusHasThousandsOfPoints) {
  const Variant v = causal();
  for (const char* target : {"x86-avx2", "x86-avx512"}) {
    const ScheduleSpace space = schedule_space({"prefill", "causal", "f32", 64, 64, target}, v);
    EXPECT_GT(space.size(), 2000u) << target;
  }
}

TEST(ScheduleSpace, EveryBoundHasAReason) {
  for (const char* pass : {"prefill", "decode"}) {
    const ScheduleSpace space = schedule_space({pass, "plain", "f32", 64, 64, "x86-avx2"}, plain());
    for (const SpaceParameter& p : space.parameters()) EXPECT_GT(p.reason.size(), 20u) << p.name;
  }
}

TEST(ScheduleSpace, ChangingAParameterMovesLaterOnesIntoTheirRanges) {
  const ScheduleSpace space =
      schedule_space({"prefill", "plain", "f32", 64, 64, "x86-avx512"}, plain());
  size_t changes = 0;
  for (size_t at = 0; at < space.size(); at += space.size() / 50 + 1) {
    const SpacePoint& point = space.points()[at];
    for (size_t i = 0; i < point.size(); ++i) {
      for (const int value : space.values(i, point)) {
        const SpacePoint moved = space.changed(point, i, value);
        EXPECT_TRUE(space.contains(moved));
        EXPECT_EQ(moved[i], value);
        EXPECT_TRUE(std::equal(point.begin(), point.begin() + static_cast<std::ptrdiff_t>(i),
                               moved.begin()));
        EXPECT_TRUE(value != point[i] || moved == point);
        ++changes;
      }
    }
  }
  EXPECT_GT(changes, 500u);
}

TEST(ScheduleSpace, NamesTheParameterThatIsOutside) {
  const ScheduleSpace space =
      schedule_space({"prefill", "plain", "f32", 64, 64, "x86-avx2"}, plain());
  const auto usual = std::get<PrefillCpuSchedule>(space.schedule(space.usual()));
  try {
    space.point_of(usual.with("key_tile=5,key_block=160"));
    FAIL() << "it is not in the space";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("key_tile is outside of what is searched"));
  }
}

TEST(ScheduleSpace, OfInnerLoopsOtherParametersStayAsTheyAre) {
  const ScheduleSpace all = schedule_space({"prefill", "plain", "f32", 64, 64, "arm64-neon"},
                                           Variant("plain")),
                      loops = inner_loop_space(all);
  EXPECT_EQ(loops.usual(), all.usual());
  EXPECT_TRUE(loops.contains(loops.usual()));
  EXPECT_GT(loops.size(), 50u);
  EXPECT_LT(loops.size(), all.size() / 10);
  for (const SpacePoint& p : loops.points()) {
    EXPECT_TRUE(all.contains(p));
    for (size_t i = 0; i < p.size(); ++i) {
      if (loops.parameters()[i].name == "row_tiles") {
        EXPECT_EQ(p[i], loops.usual()[i]);
      }
    }
  }
}

TEST(ScheduleSpace, IsOfAttentionOnly) {
  EXPECT_THROW(schedule_space({"append", "plain", "f32", 64, 64, "x86-avx2", "same"}, plain()),
               std::invalid_argument);
  EXPECT_THROW(schedule_space({"prefill", "plain", "f32", 64, 64, "x86-none"}, plain()),
               std::invalid_argument);
}

}  // namespace
}  // namespace fovea
