// masks.h: masks as values. A mask maps a position to "this key is visible"; each one here is
// ordinary DSL code. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_MASKS_H
#define FOVEA_DSL_MASKS_H

#include <fovea/dsl/parameter.h>
#include <fovea/dsl/position.h>
#include <fovea/dsl/positions.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea {

// Any callable Position -> Expr of type Bool is a mask; a & b, a | b and !a compose them.
class Mask {
 public:
  template <typename F,
            typename = std::enable_if_t<std::is_invocable_r_v<Expr, F, const Position&>>>
  Mask(F visible) : visible_(std::move(visible)) {}  // NOLINT(google-explicit-constructor)

  Expr operator()(const Position& p) const { return visible_(p); }

 private:
  std::function<Expr(const Position&)> visible_;
};

Mask operator&(Mask a, Mask b);
Mask operator|(Mask a, Mask b);
Mask operator!(Mask a);

// Positions are absolute (Position), numbers are constants, scalars of the variant or functions of
// the position (PositionValue). Tables have a batch axis first; a stride of 0 shares one table
// among all sequences.
namespace masks {

Mask full();    // every key
Mask causal();  // k <= q
// The last `count` keys up to and including the query's own position: a window as Mistral, Hugging
// Face and cuDNN count it.
Mask last_tokens(PositionValue count);
// q - left <= k <= q + right, both inclusive: FlashAttention's window_size.
Mask window(PositionValue left, PositionValue right);
Mask first_tokens(PositionValue count);  // keys 0 … count-1: global tokens, a prefix
Mask padding(PositionValue length);      // the same, as the valid length of a padded sequence
// Keys of the query's own chunk of `length` positions (Llama 4).
Mask chunked(PositionValue length);
// Up to `reach` positions away on either side, in steps of `step`: |q - k| <= reach and q - k a
// multiple of step. With causal(), the dilated causal window.
Mask dilated(PositionValue reach, PositionValue step);
// The last `stride` keys before the query's own, and from there back every stride-th one: both
// heads of the strided pattern of the Sparse Transformer together (Child et al. 2019,
// arXiv:1904.10509, section 4.3). Causal.
Mask strided(PositionValue stride);
// The query's own block of `stride` positions, and the last `summary` positions of every block
// before: the fixed pattern of the same paper. Causal.
Mask fixed_blocks(PositionValue stride, PositionValue summary);
// The first `count` tokens see every key and are seen by every query (Longformer).
Mask global_tokens(PositionValue count);
// The same for tokens anywhere: flag(batch, position).
Mask global_tokens(const Table<bool>& flag);
// Prefix-LM: the first `length` keys are visible to all, the rest is causal (Raffel et al. 2020,
// arXiv:1910.10683, section 3.2.1).
Mask prefix_lm(PositionValue length);

// Query and key carry the same number. A function of the query reads p.q, one of the key p.k.
Mask documents(PositionValue of_query, PositionValue of_key);
// The same from one table: document(batch, position).
Mask documents(const Table<int>& document);
// One interval of keys for each query: first <= k < end. Documents packed in order are of this
// kind, and unlike a comparison of document numbers it says at once where keys begin and end.
Mask keys_between(PositionValue first, PositionValue end);
// One interval of query positions for each key: first <= q < end sees it, or does not see it.
// Unions of the second kind are FlashMask (Wang et al. 2024, arXiv:2410.01359).
Mask rows_between(PositionValue first, PositionValue end);
Mask hidden_rows(PositionValue first, PositionValue end);
// Several continuations of one prefix packed after it: keys below `prefix`, and the query's own
// continuation from `start` on. Causal.
Mask shared_prefix(PositionValue prefix, PositionValue start);
// Speculative decoding: all of the first `prefix` keys, then the nodes of a tree of drafts that are
// ancestors of the query's own node or the node itself: ancestor(batch, node, other node), node n
// at position prefix + n, parents before their children (SpecInfer: Miao et al. 2023,
// arXiv:2305.09781). Causal.
Mask tree(PositionValue prefix, const Table<bool>& ancestor);

// visible(batch, head, query block, key block), blocks of positions counted from 0.
Mask block_map(const Table<bool>& visible, PositionValue query_block, PositionValue key_block);
// The same from lists in compressed (CSR) form: the visible key blocks of query block r are
// blocks[first[r]] … blocks[first[r + 1] - 1], in any order. A list may have up to `longest`
// entries (a number fixed at build time, 1 to 64); what is beyond is not seen.
Mask block_lists(const Table<int>& first, const Table<int>& blocks, int longest,
                 PositionValue query_block, PositionValue key_block);
// Blocks of `block` positions: the query's own and `reach` neighbours on either side; the first
// `global_blocks` seen by all and seeing all; others from random(head, query block, key block).
// (BigBird: Zaheer et al. 2020, arXiv:2007.14062.)
Mask bigbird(PositionValue block, PositionValue reach, PositionValue global_blocks,
             const Table<bool>& random);

// Neighbourhood attention (Hassani et al. 2022, arXiv:2204.07143): along every axis of a grid, the
// `size` coordinates around the query's own. At a border the window moves inwards and keeps its
// size; of an even one, one more coordinate lies before the query. A size beyond the extent is all
// of the axis. order is row_major or tile_major.
Mask neighborhood(GridOrder order, std::vector<Expr> extents, std::vector<Expr> sizes);
// Sliding-tile attention (Zhang et al. 2025, arXiv:2502.04507): the same on whole tiles, tokens in
// the order of tile_major, sizes in tiles. Every pair of tiles is all visible or all hidden.
Mask sliding_tile(std::vector<Expr> extents, std::vector<Expr> tile, std::vector<Expr> sizes);

// Training of block diffusion (Arriola et al. 2025, arXiv:2503.09573): `length` noised tokens, then
// the same tokens clean, in blocks of `block`. A noised token sees its own noised block and the
// clean blocks before it; a clean one sees the clean blocks up to its own.
Mask block_diffusion(PositionValue length, PositionValue block);

// visible(batch, head, row, key), row that of the call (Position::row). True is visible.
Mask dense(const Table<bool>& visible);

// Another mask with positions of one's own in the place of q and k: a mask inside each document,
// say, with q and k counted from its start.
Mask mapped(Mask inner, PositionValue q, PositionValue k);

}  // namespace masks
}  // namespace fovea

#endif
