// variants.cpp: what reports of the fault bank ask for and the catalogue has no name for.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// A group that sees itself whole, beside a causal window.
FOVEA_VARIANT(bank_group_or_window, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto first = v.scalar<int>("first");
  auto last = v.scalar<int>("last");
  const auto in_group = [=](Expr at) { return at >= first && at <= last; };
  v.keep((masks::causal() & masks::last_tokens(window)) |
         [=](Position p) { return in_group(p.q) && in_group(p.k); });
  v.returns(lse);
}

// Global tokens see every key and are seen by every query.
FOVEA_VARIANT(bank_global_both_ways, v) {
  auto reach = v.scalar<int>("reach").at_least(0);
  auto global = v.scalar<int>("global").at_least(0);
  v.keep(masks::window(reach, reach) | masks::first_tokens(global) |
         [=](Position p) { return p.q < global; });
  v.returns(lse);
}

// A mask for each KV head, shared by the query heads of its group.
FOVEA_VARIANT(bank_kv_head_mask, v) {
  auto keep = v.table<int>("keep", {axis::batch, axis::kv_head, axis::query, axis::key});
  v.keep([=](Position p) { return keep(p.batch, p.kv_head, p.q, p.k) != 0; });
  v.returns(lse);
}

// A table one entry shorter than the sequence; the mask hides the key it lacks.
FOVEA_VARIANT(bank_short_table, v) {
  auto bias = v.table<float>("bias", {127});
  v.score([=](Expr s, Position p) { return s + bias(p.k); });
  v.keep(masks::causal() & [](Position p) { return p.k < 127; });
  v.returns(lse);
}

// One flag for each block of rows_of_block queries and keys_of_block keys.
FOVEA_VARIANT(bank_block_map, v) {
  auto rows_of_block = v.scalar<int>("rows_of_block").at_least(1);
  auto keys_of_block = v.scalar<int>("keys_of_block").at_least(1);
  auto visible = v.table<int>("visible", {axis::any, axis::any});
  v.keep([=](Position p) { return visible(p.q / rows_of_block, p.k / keys_of_block) != 0; });
  v.returns(lse);
}

// Tokens of one segment see each other.
FOVEA_VARIANT(bank_segments, v) {
  auto of_query = v.table<int>("of_query", {axis::query});
  auto of_key = v.table<int>("of_key", {axis::key});
  v.keep([=](Position p) { return of_query(p.q) == of_key(p.k); });
  v.returns(lse);
}

// Several sequences whose tokens lie in one cache in any order: a causal window over positions that
// are looked up.
FOVEA_VARIANT(bank_one_cache, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto query_sequence = v.table<int>("query_sequence", {axis::query});
  auto query_position = v.table<int>("query_position", {axis::query});
  auto key_sequence = v.table<int>("key_sequence", {axis::key});
  auto key_position = v.table<int>("key_position", {axis::key});
  v.keep([=](Position p) {
    const Expr distance = query_position(p.q) - key_position(p.k);
    return query_sequence(p.q) == key_sequence(p.k) && distance >= 0 && distance < window;
  });
  v.returns(lse);
}
