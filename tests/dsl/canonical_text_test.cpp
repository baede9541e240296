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
  v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
  v.score([=](Expr s, Position p) {
    return s - slope(p.head) * cast<float>(p.q - p.k) + bias(p.batch, p.kv_head, p.q, p.k);
  });
  v.score([](Expr s, Position) { return s + 1e-8f; });
  v.keep(masks::last_tokens(window) | masks::first_tokens(4));
  v.keep([=](Position p) { return kind(0, p.k) != 0 || p.kv_len - p.q_len == 0; });
  v.returns(lse);
}

// Every kind of statement around the softmax.
void declare_row_pieces(Variant& v) {
  auto gate = v.table<float>("gate", {axis::row, axis::value_feature});
  auto angle = v.table<float>("angle", {axis::position, axis::feature});
  auto allowed = v.table<bool>("allowed", {axis::row, axis::key});
  v.query([=](const Row& row, Expr d, Position p) { return row(d) * angle(p.q, d); });
  v.query([](const Row& row, Expr d, Position) { return row(d) / row.mean_square(); });
  v.key(
      [=](const Row& row, Expr d, Position p) { return row(row.size() - 1 - d) * angle(p.k, d); });
  v.value([](const Row& row, Expr d, Position) {
    return row(d) / row.largest([&](Expr j) { return abs(row(j)); });
  });
  v.keep([=](Position p) { return allowed(p.row, p.k) || p.k >= gate.extent(1); });
  v.weight_factor([](Position p) { return cast<float>(p.k % 2); });
  v.slices(2, [](const std::vector<Expr>& o, Position) { return o[0] - 0.5f * o[1]; });
  v.output([=](const Row& row, Expr d, Position p) { return row(d) * gate(p.row, d); });
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

TEST(CanonicalText, RowPieces) {
  Variant v("pieces");
  declare_row_pieces(v);
  v.normalize(softmax().sink([](Position p) { return cast<float>(p.head); }));
  EXPECT_EQ(v.canonical_text(),
            "variant pieces\n"
            "table float32 gate(row, value_feature)\n"
            "table float32 angle(position, feature)\n"
            "table bool allowed(row, key)\n"
            "query ((float32)row.entry(d)*(float32)table.angle(q, d))\n"
            "query ((float32)row.entry(d)/((float32)row.sum((float32)row.entry(row.index)*"
            "(float32)row.entry(row.index))/float32(row.size())))\n"
            "key ((float32)row.entry((row.size() - 1) - d)*(float32)table.angle(k, d))\n"
            "value ((float32)row.entry(d)/"
            "(float32)row.largest((float32)abs((float32)row.entry(row.index))))\n"
            "keep (((uint8)table.allowed(row, k) != (uint8)0) || (k >= extent.gate(1)))\n"
            "normalize softmax\n"
            "sink float32(head)\n"
            "factor float32(k % 2)\n"
            "slices 2 ((float32)slice.0 - (0.5f*(float32)slice.1))\n"
            "output ((float32)row.entry(d)*(float32)table.gate(row, d))\n");
}

TEST(CanonicalText, Weights) {
  Variant v("weighted");
  v.normalize(relu().divided_by([](Expr sum, Position p) { return sum + cast<float>(p.kv_len); }));
  v.returns(probabilities);
  v.returns(row_sum);
  EXPECT_EQ(v.canonical_text(),
            "variant weighted\n"
            "normalize weights max((float32)score, 0f)\n"
            "divide by ((float32)sum + float32(kv_len))\n"
            "returns row_sum\n"
            "returns probabilities\n");
  Variant all("softmax");
  for (const Output output : {probabilities, row_sum, row_max, lse}) all.returns(output);
  EXPECT_EQ(all.canonical_text(),
            "variant softmax\n"
            "normalize softmax\n"
            "returns lse\n"
            "returns row_max\n"
            "returns row_sum\n"
            "returns probabilities\n");
}

// Prose and examples are no part of the meaning.
TEST(CanonicalText, LeavesProseOut) {
  Variant plain("sample"), told("sample");
  for (Variant* v : {&plain, &told}) {
    const auto x = v->scalar<float>("x");
    v->score([=](Expr s, Position) { return s * x; });
    if (v == &told) x.describe("a number").example(3);
  }
  told.summary("summary");
  told.source("source");
  told.family("family");
  told.note("note");
  EXPECT_EQ(told.canonical_text(), plain.canonical_text());
}

// One change to a declaration of row pieces, each with a hash of its own.
TEST(CanonicalText, EveryPieceShows) {
  using Change = std::function<void(Variant&)>;
  const RowTransform same = [](const Row& row, Expr d, Position) { return row(d); };
  const RowTransform next = [](const Row& row, Expr d, Position) { return row(d + 1); };
  const RowTransform sum = [](const Row& row, Expr, Position) {
    return row.sum([&](Expr j) { return row(j); });
  };
  const RowTransform largest = [](const Row& row, Expr, Position) {
    return row.largest([&](Expr j) { return row(j); });
  };
  const auto factor = [](float x) {
    return [=](Variant& v) { v.weight_factor([=](Position) { return Expr(x); }); };
  };
  const auto sink = [](float x) {
    return [=](Variant& v) { v.normalize(softmax().sink([=](Position) { return Expr(x); })); };
  };
  const auto divided = [](const Normalizer& n, float x) {
    return n.divided_by([=](Expr w, Position) { return w + x; });
  };
  const auto sliced = [](int count, int chosen) {
    return [=](Variant& v) {
      v.slices(count, [=](const std::vector<Expr>& o, Position) {
        return o[static_cast<size_t>(chosen)];
      });
    };
  };
  const std::vector<Change> changes = {[](Variant&) {},
                                       [=](Variant& v) { v.query(same); },
                                       [=](Variant& v) { v.key(same); },
                                       [=](Variant& v) { v.value(same); },
                                       [=](Variant& v) { v.output(same); },
                                       [=](Variant& v) { v.query(next); },
                                       [=](Variant& v) { v.query(sum); },
                                       [=](Variant& v) { v.query(largest); },
                                       [=](Variant& v) {
                                         v.query(same);
                                         v.query(next);
                                       },
                                       [=](Variant& v) {
                                         v.query(next);
                                         v.query(same);
                                       },
                                       factor(0.5f),
                                       factor(0.25f),
                                       sink(0.5f),
                                       sink(0.25f),
                                       [](Variant& v) { v.normalize(sigmoid()); },
                                       [](Variant& v) { v.normalize(relu()); },
                                       [](Variant& v) { v.normalize(identity()); },
                                       [=](Variant& v) { v.normalize(divided(relu(), 1)); },
                                       [=](Variant& v) { v.normalize(divided(relu(), 2)); },
                                       sliced(2, 0),
                                       sliced(2, 1),
                                       sliced(3, 0),
                                       [](Variant& v) { v.returns(lse); },
                                       [](Variant& v) { v.returns(row_max); },
                                       [](Variant& v) { v.returns(row_sum); },
                                       [](Variant& v) { v.returns(probabilities); },
                                       [](Variant& v) {
                                         const auto t = v.table<bool>("t", {axis::key});
                                         v.keep([=](Position p) { return t(p.k); });
                                       },
                                       [](Variant& v) {
                                         const auto t = v.table<bool>("t", {axis::row});
                                         v.keep([=](Position p) { return t(p.k); });
                                       },
                                       [](Variant& v) {
                                         const auto t = v.table<bool>("t", {axis::row});
                                         v.keep([=](Position p) { return t(p.row); });
                                       },
                                       [](Variant& v) {
                                         const auto t = v.table<bool>("t", {axis::row});
                                         v.keep([=](Position p) { return p.k < t.extent(); });
                                       }};
  std::set<std::string> texts;
  std::set<uint64_t> hashes;
  for (size_t i = 0; i < changes.size(); ++i) {
    Variant v("sample");
    changes[i](v);
    v.check();
    EXPECT_TRUE(texts.insert(v.canonical_text()).second) << i << "\n" << v.canonical_text();
    EXPECT_TRUE(hashes.insert(v.hash()).second) << i;
  }
  // A normaliser named is the default one.
  Variant named("sample");
  named.normalize(softmax());
  EXPECT_TRUE(texts.count(named.canonical_text()));
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
