// canonical_text_test.cpp: the text and the hash that stand for a declaration.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace fovea {
namespace {

// Every kind of statement.
void declare_everything(Variant& v) {
  auto cap = v.scalar<float>("cap").positive().at_most(50);
  auto window = v.scalar<int>("window").at_least(1);
  auto slope = v.table<float>("slope", {axis::head});
  auto bias = v.table<float>("bias", {axis::batch, axis::kv_head, axis::query, axis::key});
  auto kind = v.table<int>("kind", {3, axis::any});
  v.summary("one of each");
  v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
  v.score([=](Expr s, Position p) {
    return s - slope(p.head) * cast<float>(p.q - p.k) + bias(p.batch, p.kv_head, p.q, p.k);
  });
  v.score([](Expr s, Position) { return s + 1e-8f; });
  v.keep(masks::last_tokens(window) | masks::first_tokens(4));
  v.keep([=](Position p) { return kind(0, p.k) != 0 || p.kv_len - p.q_len == 0; });
  v.returns(lse);
}

TEST(CanonicalText, ReadsAsTheDeclaration) {
  Variant v("everything", "somewhere.cpp", 7);
  declare_everything(v);
  EXPECT_EQ(v.file(), "somewhere.cpp");
  EXPECT_EQ(v.line(), 7);
  EXPECT_EQ(v.canonical_text(),
            "variant everything\n"
            "scalar float32 cap in (0, 50]\n"
            "scalar int32 window in [1, 1073741824]\n"
            "table float32 slope(head)\n"
            "table float32 bias(batch, kv_head, query, key)\n"
            "table int32 kind(3, any)\n"
            "score ((float32)cap*(float32)tanh_f32((float32)score/(float32)cap))\n"
            "score (((float32)score - ((float32)table.slope(head)*float32(q - k))) + "
            "(float32)table.bias(batch, kv_head, q, k))\n"
            "score ((float32)score + 1e-08f)\n"
            "keep (((k <= q) && ((q - k) < window)) || (k < 4))\n"
            "keep ((table.kind(0, k) != 0) || ((kv_len - q_len) == 0))\n"
            "normalize softmax\n"
            "returns lse\n");
}

TEST(CanonicalText, HashIsStable) {
  Variant v("everything");
  declare_everything(v);
  EXPECT_EQ(v.hash(), 0x3a17c1817e916c3cu);
  // Of the same declaration made again, in another place and with another summary.
  Variant again("everything", "elsewhere.cpp", 99);
  declare_everything(again);
  again.summary("another summary");
  EXPECT_EQ(again.canonical_text(), v.canonical_text());
  EXPECT_EQ(again.hash(), v.hash());
}

TEST(CanonicalText, EveryChangeShows) {
  // Each differs from the first in one point.
  struct Choice {
    const char* name = "sample";
    float constant = 0.1f;
    bool steps_swapped = false, keeps_swapped = false, lse = false, integer = false;
    int window = 8;
    float minimum = 1;
    float maximum = 9;
    bool exclusive = false;
    Axis axis = axis::head;
    const char* table = "slope";
    bool extra_axis = false;
  };
  const auto text_of = [](const Choice& c) {
    Variant v(c.name);
    auto cap = v.scalar<float>("cap").at_most(c.maximum);
    if (c.exclusive) {
      cap.positive();
    } else {
      cap.at_least(c.minimum);
    }
    auto limit = v.scalar<int>("limit");
    const std::string table = c.table;
    std::function<Expr(Position)> slope;
    if (c.extra_axis) {
      auto t = v.table<float>(table, {c.axis, 2});
      slope = [=](Position p) { return t(p.head, 0); };
    } else if (c.integer) {
      auto t = v.table<int>(table, {c.axis});
      slope = [=](Position p) { return cast<float>(t(p.head)); };
    } else {
      auto t = v.table<float>(table, {c.axis});
      slope = [=](Position p) { return t(p.head); };
    }
    const auto first = [=](Expr s, Position p) { return s * c.constant + slope(p); };
    const auto second = [=](Expr s, Position) { return tanh(s) * cap; };
    if (c.steps_swapped) v.score(second);
    v.score(first);
    if (!c.steps_swapped) v.score(second);
    if (c.keeps_swapped) v.keep(masks::first_tokens(limit));
    v.keep(masks::last_tokens(c.window));
    if (!c.keeps_swapped) v.keep(masks::first_tokens(limit));
    if (c.lse) v.returns(fovea::lse);
    v.check();
    return v;
  };
  std::vector<Choice> choices(1);
  const auto add = [&](auto change) {
    Choice c;
    change(c);
    choices.push_back(c);
  };
  add([](Choice& c) { c.name = "another"; });
  add([](Choice& c) { c.constant = std::nextafter(0.1f, 1.0f); });
  add([](Choice& c) { c.constant = 1e-9f; });
  add([](Choice& c) { c.constant = 2e-9f; });
  add([](Choice& c) { c.steps_swapped = true; });
  add([](Choice& c) { c.keeps_swapped = true; });
  add([](Choice& c) { c.lse = true; });
  add([](Choice& c) { c.window = 9; });
  add([](Choice& c) { c.minimum = std::nextafter(1.0f, 2.0f); });
  add([](Choice& c) { c.minimum = 0; });
  add([](Choice& c) { c.maximum = 8; });
  add([](Choice& c) { c.exclusive = true; });
  add([](Choice& c) { c.axis = axis::any; });
  add([](Choice& c) { c.axis = Axis(4); });
  add([](Choice& c) { c.axis = Axis(5); });
  add([](Choice& c) { c.table = "slopes"; });
  add([](Choice& c) { c.integer = true; });
  add([](Choice& c) { c.extra_axis = true; });
  std::set<std::string> texts;
  std::set<uint64_t> hashes;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Variant v = text_of(choices[i]);
    EXPECT_TRUE(texts.insert(v.canonical_text()).second) << "choice " << i << " repeats\n"
                                                         << v.canonical_text();
    EXPECT_TRUE(hashes.insert(v.hash()).second) << "choice " << i;
  }
}

}  // namespace
}  // namespace fovea
