// search_test.cpp: what strategies propose, on times that a formula gives.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/search.h"

#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

namespace fovea {
namespace {

const ScheduleSpace& space() {
  static const ScheduleSpace s =
      schedule_space({"prefill", "plain", "f32", 8, 8, "x86-sse41"}, Variant("plain"));
  return s;
}

// One peak, and each parameter counts.
double speedup_of(const SpacePoint& p) {
  double x = 0;
  for (size_t i = 0; i < p.size(); ++i)
    x += std::fabs(std::log2(1.0 + p[i]) - 1.5 - 0.1 * static_cast<double>(i));
  return 2 / (1 + 0.2 * x);
}

struct Walk {
  std::vector<Proposal> proposals;
  double best = 0;
};

Walk walk(const std::string& strategy, const SearchOptions& options = {}) {
  const auto search = make_strategy(strategy, space(), options);
  Walk w;
  for (;;) {
    const std::vector<Proposal> next = search->next();
    if (next.empty()) break;
    for (const Proposal& p : next) {
      EXPECT_TRUE(space().contains(p.point));
      EXPECT_GE(search->expected(), 0u);
      search->learn(p, speedup_of(p.point));
      w.proposals.push_back(p);
      w.best = std::max(w.best, speedup_of(p.point));
    }
  }
  EXPECT_EQ(search->expected(), 0u);
  return w;
}

std::set<SpacePoint> points_of(const Walk& w) {
  std::set<SpacePoint> points;
  for (const Proposal& p : w.proposals) points.insert(p.point);
  return points;
}

double best_of_all() {
  double best = 0;
  for (const SpacePoint& p : space().points()) best = std::max(best, speedup_of(p));
  return best;
}

TEST(Search, ExhaustiveAndRandomTryEveryPointOnce) {
  for (const char* strategy : {"exhaustive", "random"}) {
    const Walk w = walk(strategy);
    EXPECT_EQ(w.proposals.size(), space().size());
    EXPECT_EQ(points_of(w).size(), space().size());
    EXPECT_DOUBLE_EQ(w.best, best_of_all());
  }
}

TEST(Search, RandomDependsOnTheSeedAlone) {
  const auto first = [](uint64_t seed) { return walk("random", {seed, 0}).proposals[0].point; };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(walk("random", {1, 0}).proposals[0].point, walk("exhaustive").proposals[0].point);
  std::set<SpacePoint> firsts;
  for (uint64_t seed = 1; seed < 9; ++seed) firsts.insert(first(seed));
  EXPECT_GT(firsts.size(), 4u);
}

TEST(Search, HalvingFindsThePeakWithASmallPartOfTheSpace) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const Walk w = walk("halving", {seed, 24});
    EXPECT_GE(w.best, 0.97 * best_of_all()) << seed;
    EXPECT_LT(w.proposals.size(), space().size() / 20) << seed;
  }
}

TEST(Search, HalvingBeginsWithTheDefaultAndKeepsIt) {
  const Walk w = walk("halving", {3, 12});
  EXPECT_EQ(w.proposals[0].point, space().usual());
  size_t screened = 0, default_compared = 0;
  for (const Proposal& p : w.proposals) {
    screened += p.effort == Effort::Screen ? 1 : 0;
    default_compared += p.effort == Effort::Compare && p.point == space().usual() ? 1 : 0;
  }
  EXPECT_EQ(screened, 13u);
  EXPECT_EQ(default_compared, 1u);
}

TEST(Search, HalvingComparesNothingTwiceAndNothingThatCannotBeUsed) {
  const auto search = make_strategy("halving", space(), {7, 20});
  std::set<SpacePoint> compared, broken;
  for (;;) {
    const std::vector<Proposal> next = search->next();
    if (next.empty()) break;
    for (const Proposal& p : next) {
      // Every third random start does not run.
      const bool breaks = p.effort == Effort::Screen && p.point != space().usual() &&
                          (p.point[2] + p.point[3] + p.point[6]) % 3 == 0;
      if (breaks) broken.insert(p.point);
      if (p.effort == Effort::Compare) {
        EXPECT_TRUE(compared.insert(p.point).second);
      }
      search->learn(p, breaks ? 0 : speedup_of(p.point));
    }
    if (compared.empty()) continue;
  }
  EXPECT_FALSE(broken.empty());
  EXPECT_TRUE(compared.count(space().usual()));
}

TEST(Search, WithoutAnythingFasterTheDescentEnds) {
  const auto search = make_strategy("halving", space(), {1, 4});
  size_t tried = 0;
  for (;;) {
    const std::vector<Proposal> next = search->next();
    if (next.empty()) break;
    tried += next.size();
    ASSERT_LT(tried, 500u);
    for (const Proposal& p : next) search->learn(p, p.point == space().usual() ? 1 : 0.95);
  }
  EXPECT_GT(tried, 5u);
}

TEST(Search, UnknownNamesAreRefused) {
  EXPECT_THROW(make_strategy("annealing", space(), {}), std::invalid_argument);
}

}  // namespace
}  // namespace fovea
