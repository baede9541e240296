// masks.cpp: composition of masks, and the masks that have a name in the field.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/masks.h>

#include <string>

namespace fovea {

Mask operator&(Mask a, Mask b) {
  return Mask([a, b](const Position& p) { return a(p) && b(p); });
}
Mask operator|(Mask a, Mask b) {
  return Mask([a, b](const Position& p) { return a(p) || b(p); });
}
Mask operator!(Mask a) {
  return Mask([a](const Position& p) { return !a(p); });
}

namespace masks {

// Wherever it can be, a mask is written as comparisons of k with bounds that depend on q: the form
// from which ranges of keys are read off exactly.

Mask full() {
  return Mask([](const Position&) { return Halide::Internal::const_true(); });
}
Mask causal() {
  return Mask([](const Position& p) { return p.k <= p.q; });
}
Mask last_tokens(PositionValue count) {
  return Mask([count](const Position& p) { return p.k <= p.q && p.q - p.k < count(p); });
}
Mask window(PositionValue left, PositionValue right) {
  return Mask(
      [left, right](const Position& p) { return p.q - p.k <= left(p) && p.k - p.q <= right(p); });
}
Mask first_tokens(PositionValue count) {
  return Mask([count](const Position& p) { return p.k < count(p); });
}
Mask padding(PositionValue length) { return first_tokens(std::move(length)); }
Mask chunked(PositionValue length) {
  // Two inequalities, because of an equality no block is ever known to be visible as a whole.
  return Mask([length](const Position& p) {
    const Expr q = p.q / length(p), k = p.k / length(p);
    return k >= q && k <= q;
  });
}
Mask dilated(PositionValue reach, PositionValue step) {
  return window(reach, reach) &
         Mask([step](const Position& p) { return remainder_of(p.q - p.k, step(p)) <= 0; });
}
Mask strided(PositionValue stride) {
  return causal() & Mask([stride](const Position& p) {
           return p.q - p.k <= stride(p) || remainder_of(p.q - p.k, stride(p)) <= 0;
         });
}
Mask fixed_blocks(PositionValue stride, PositionValue summary) {
  return causal() & (chunked(stride) | Mask([stride, summary](const Position& p) {
                       return remainder_of(p.k, stride(p)) >= stride(p) - summary(p);
                     }));
}
Mask global_tokens(PositionValue count) {
  return Mask([count](const Position& p) { return p.k < count(p) || p.q < count(p); });
}
Mask global_tokens(const Table<bool>& flag) {
  return Mask([flag](const Position& p) { return flag(p.batch, p.k) || flag(p.batch, p.q); });
}
Mask prefix_lm(PositionValue length) { return causal() | first_tokens(std::move(length)); }

Mask documents(PositionValue of_query, PositionValue of_key) {
  return Mask([of_query, of_key](const Position& p) { return of_query(p) == of_key(p); });
}
Mask documents(const Table<int>& document) {
  return documents([document](const Position& p) { return document(p.batch, p.q); },
                   [document](const Position& p) { return document(p.batch, p.k); });
}
Mask keys_between(PositionValue first, PositionValue end) {
  return Mask([first, end](const Position& p) { return p.k >= first(p) && p.k < end(p); });
}
Mask rows_between(PositionValue first, PositionValue end) {
  return Mask([first, end](const Position& p) { return p.q >= first(p) && p.q < end(p); });
}
Mask hidden_rows(PositionValue first, PositionValue end) {
  return Mask([first, end](const Position& p) { return p.q < first(p) || p.q >= end(p); });
}
Mask shared_prefix(PositionValue prefix, PositionValue start) {
  return causal() &
         Mask([prefix, start](const Position& p) { return p.k < prefix(p) || p.k >= start(p); });
}
Mask tree(PositionValue prefix, const Table<bool>& ancestor) {
  return causal() & Mask([prefix, ancestor](const Position& p) {
           const Expr first = prefix(p);
           return p.k < first || ancestor(p.batch, p.q - first, p.k - first);
         });
}

Mask block_map(const Table<bool>& visible, PositionValue query_block, PositionValue key_block) {
  return Mask([=](const Position& p) {
    return visible(p.batch, p.head, p.q / query_block(p), p.k / key_block(p));
  });
}
Mask block_lists(const Table<int>& first, const Table<int>& blocks, int longest,
                 PositionValue query_block, PositionValue key_block) {
  if (longest < 1 || longest > 64) {
    throw DeclarationError("?", "block_lists", std::to_string(longest),
                           "the longest list has 1 to 64 entries",
                           "use block_map for denser patterns");
  }
  return Mask([=](const Position& p) {
    const Expr row = p.q / query_block(p), k = p.k / key_block(p);
    const Expr begin = first(row), end = first(row + 1);
    Expr seen;
    for (int i = 0; i < longest; ++i) {
      const Expr here = begin + i < end && blocks(begin + i) == k;
      seen = seen.defined() ? seen || here : here;
    }
    return seen;
  });
}
Mask bigbird(PositionValue block, PositionValue reach, PositionValue global_blocks,
             const Table<bool>& random) {
  return Mask([=](const Position& p) {
    const Expr q = p.q / block(p), k = p.k / block(p);
    const Expr near = q - k <= reach(p) && k - q <= reach(p);
    const Expr global = k < global_blocks(p) || q < global_blocks(p);
    return near || global || random(p.head, q, k);
  });
}

Mask neighborhood(GridOrder order, std::vector<Expr> extents, std::vector<Expr> sizes) {
  if (extents.empty() || extents.size() != sizes.size()) {
    throw DeclarationError(
        "?", "neighborhood",
        std::to_string(extents.size()) + " extents and " + std::to_string(sizes.size()) + " sizes",
        "a window has a size along every axis of its grid", "list both slowest axis first");
  }
  return Mask([=](const Position& p) {
    const std::vector<Expr> q = order(p.q), k = order(p.k);
    Expr inside;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const Expr first =
          Halide::max(Halide::min(q.at(axis) - sizes[axis] / 2, extents[axis] - sizes[axis]), 0);
      const Expr here = k.at(axis) >= first && k[axis] < first + sizes[axis];
      inside = inside.defined() ? inside && here : here;
    }
    return inside;
  });
}
Mask sliding_tile(std::vector<Expr> extents, std::vector<Expr> tile, std::vector<Expr> sizes) {
  std::vector<Expr> tiles;
  const GridOrder order = tile_of(extents, tile);
  for (size_t axis = 0; axis < extents.size(); ++axis) tiles.push_back(extents[axis] / tile[axis]);
  return neighborhood(order, std::move(tiles), std::move(sizes));
}

Mask block_diffusion(PositionValue length, PositionValue block) {
  return Mask([=](const Position& p) {
    const Expr n = length(p), size = block(p);
    const Expr own_noised = p.q < n && p.k < n && p.q / size == p.k / size;
    const Expr clean_before = p.k >= n && p.q < n && (p.k - n) / size < p.q / size;
    const Expr clean_so_far = p.k >= n && p.q >= n && (p.k - n) / size <= (p.q - n) / size;
    return own_noised || clean_before || clean_so_far;
  });
}

Mask dense(const Table<bool>& visible) {
  return Mask([visible](const Position& p) { return visible(p.batch, p.head, p.row, p.k); });
}

Mask mapped(Mask inner, PositionValue q, PositionValue k) {
  return Mask([=](const Position& p) {
    Position there = p;
    there.q = q(p);
    there.k = k(p);
    return inner(there);
  });
}

}  // namespace masks
}  // namespace fovea
