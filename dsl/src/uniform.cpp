// uniform.cpp: a counter-based hash in 32-bit arithmetic, written once for numbers and expressions.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/uniform.h>

namespace fovea {
namespace {

// A bijection of 32-bit numbers in which every input bit flips every output bit about half of the
// time: two rounds of xor-shift and multiplication (C. Wellons, "Prospecting for hash functions",
// 2018: the constants of lowbias32).
template <typename Word>
Word mixed(Word x) {
  x = x ^ (x >> 16);
  x = x * Word(uint32_t{0x7feb352d});
  x = x ^ (x >> 15);
  x = x * Word(uint32_t{0x846ca68b});
  return x ^ (x >> 16);
}

// One number after the other, so that what does not change along a tile is hashed once. The key is
// mixed before it joins: otherwise rows whose hashes differ in low bits only would hold the same
// numbers in another order.
template <typename Word>
Word hash_of(Word seed, Word batch, Word head, Word q, Word k) {
  Word x = mixed(seed + Word(uint32_t{0x9e3779b9}));
  x = mixed(x ^ batch);
  x = mixed(x ^ head);
  x = mixed(x ^ q);
  return mixed(x ^ mixed(k + Word(uint32_t{0x85ebca6b})));
}

}  // namespace

Expr uniform(Expr seed, const Position& p) {
  const auto word = [](const Expr& e) { return Halide::cast<uint32_t>(e); };
  const Expr x = hash_of<Expr>(word(seed), word(p.batch), word(p.head), word(p.q), word(p.k));
  // 24 bits are exact in f32; as Int(32) they convert in one instruction everywhere.
  return Halide::cast<float>(Halide::cast<int32_t>(x >> 8)) * 0x1p-24f;
}

float uniform(int32_t seed, int32_t batch, int32_t head, int32_t q, int32_t k) {
  const auto word = [](int32_t x) { return static_cast<uint32_t>(x); };
  const uint32_t x = hash_of<uint32_t>(word(seed), word(batch), word(head), word(q), word(k));
  return static_cast<float>(x >> 8) * 0x1p-24f;
}

}  // namespace fovea
