// rope.h: rotary positions as row transforms.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_ROPE_H
#define FOVEA_DSL_ROPE_H

#include <fovea/dsl/parameter.h>
#include <fovea/dsl/rope_frequencies.h>
#include <fovea/dsl/row.h>
#include <fovea/dsl/variant.h>

#include <functional>

namespace fovea {

// Which features make a pair. There is no default: checkpoints of both kinds are about, and the
// wrong one gives fluent nonsense.
enum class RopeLayout {
  Interleaved,  // 2i and 2i + 1: the paper, GPT-J, Llama as Meta ships it
  Half,         // i and i + dims/2: GPT-NeoX, Llama and most others in Hugging Face's layout
};

// Transforms for v.query and v.key. cosine and sine have the axes {position, pair}; twice as many
// features as they have pairs are turned, from `first_feature` on, and the others stay (partial
// rotation). (x, y) becomes (x cos - y sin, y cos + x sin) (Su et al. 2021, arXiv:2104.09864).
struct Rope {
  Rope(RopeLayout layout, const Table<float>& cosine, const Table<float>& sine,
       Expr first_feature = 0);
  RowTransform query, key;
};

// Typical frequencies of a shape, for the examples of the tables.
using RopeExample = std::function<RopeFrequencies(const ExampleShape&)>;

// Declares the tables `cosine` and `sine` and turns queries and keys by them.
void rotate(Variant& v, RopeLayout layout, RopeExample example);

// The same for the last features, as many as the tables say, of rows that begin with a part without
// positions (multi-head latent attention).
void rotate_last(Variant& v, RopeLayout layout, RopeExample example);

}  // namespace fovea

#endif
