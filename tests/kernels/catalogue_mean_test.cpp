// catalogue_mean_test.cpp: what the masks of the catalogue show, key by key,
// written down from the papers and models they come from.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/kernels/mask_mean.h"

namespace fovea::test {
namespace {

using Grid = std::vector<int64_t>;  // an extent or a coordinate along each axis,
                                    // the slowest first

// The window of `size` coordinates around q moves inwards at the borders. Of an
// even one, one more coordinate lies before the query.
bool near(const Grid& q, const Grid& k, const Grid& extent, const Grid& size) {
  for (size_t axis = 0; axis < extent.size(); ++axis) {
    int64_t first = q[axis] - size[axis] / 2;
    while (first + size[axis] > extent[axis]) --first;
    while (first < 0) ++first;
    if (k[axis] < first || k[axis] >= first + size[axis]) return false;
  }
  return true;
}

Grid row_by_row(const Grid& extent, int64_t index) {
  Grid at(extent.size());
  for (size_t axis = extent.size(); axis-- > 0;) {
    at[axis] = index % extent[axis];
    index /= extent[axis];
  }
  return at;
}

Grid tile_by_tile(const Grid& extent, const Grid& tile, int64_t index) {
  int64_t tokens = 1;
  Grid tiles = extent;
  for (size_t axis = 0; axis < extent.size(); ++axis) {
    tokens *= tile[axis];
    tiles[axis] /= tile[axis];
  }
  const Grid outer = row_by_row(tiles, index / tokens);
  Grid at = row_by_row(tile, index % tokens);
  for (size_t axis = 0; axis < extent.size(); ++axis) at[axis] += outer[axis] * tile[axis];
  return at;
}

Grid grid_2d(const Values& v) { return {v.whole("height"), v.whole("width")}; }
Grid grid_3d(const Values& v) { return {v.whole("depth"), v.whole("height"), v.whole("width")}; }
Grid tile_3d(const Values& v) { return {v.whole("tile_z"), v.whole("tile_y"), v.whole("tile_x")}; }

void set_if_there(Problem& problem, const char* name, int64_t value) {
  if (problem.kernel().declaration().find_parameter(name) == nullptr) return;
  problem.params.set(name, static_cast<double>(value));
}

// Grids that all of the tokens fill, with a whole number of tiles.
void draw_2d(Problem& problem, Random& random) {
  set_if_there(problem, "height", 6);
  set_if_there(problem, "width", 10);
  set_if_there(problem, "tile_y", random.pick<int64_t>({1, 2, 3}));
  set_if_there(problem, "tile_x", random.pick<int64_t>({1, 2, 5}));
  set_if_there(problem, "size_y", random.integer(1, 7));
  set_if_there(problem, "size_x", random.integer(1, 11));
}
void draw_3d(Problem& problem, Random& random) {
  set_if_there(problem, "depth", 4);
  set_if_there(problem, "height", 4);
  set_if_there(problem, "width", 6);
  for (const char* name : {"tile_z", "tile_y"}) {
    set_if_there(problem, name, random.pick<int64_t>({1, 2}));
  }
  set_if_there(problem, "tile_x", random.pick<int64_t>({2, 3}));
  for (const char* name : {"size_z", "size_y"}) set_if_there(problem, name, random.integer(1, 3));
  set_if_there(problem, "size_x", random.integer(1, 5));
}

bool everything(const Place&, const Values&) { return true; }
bool causal(const Place& p, const Values&) { return p.k <= p.q; }

const MaskRow mask_rows[] = {
    {"full", everything},
    {"causal", causal},
    {"causal_window",
     [](const Place& p, const Values& v) { return p.k <= p.q && p.q - p.k < v.whole("window"); }},
    {"global_window",
     [](const Place& p, const Values& v) {
       return p.k <= p.q && (p.q - p.k < v.whole("window") || p.k < v.whole("global"));
     }},
    {"padded",
     [](const Place& p, const Values& v) {
       return static_cast<double>(p.k) < v.at("length", {p.batch});
     }},
    {"softcapped_window",
     [](const Place& p, const Values& v) { return p.k <= p.q && p.q - p.k < v.whole("window"); }},
    {"alibi_causal", causal, [](Problem& problem, Random&) { fill_table(problem, "slope", 0); }},
    {"two_sided_window",
     [](const Place& p, const Values& v) {
       return p.k >= p.q - v.whole("left") && p.k <= p.q + v.whole("right");
     }},
    {"chunked",
     [](const Place& p, const Values& v) {
       const int64_t chunk = v.whole("chunk");
       return p.k <= p.q && quotient_of(p.k, chunk) == quotient_of(p.q, chunk);
     }},
    {"dilated_window",
     [](const Place& p, const Values& v) {
       const int64_t distance = std::abs(p.q - p.k);
       return distance <= v.whole("reach") && distance % v.whole("step") == 0;
     }},
    {"strided",
     [](const Place& p, const Values& v) {
       const int64_t back = p.q - p.k, stride = v.whole("stride");
       return back >= 0 && (back <= stride || back % stride == 0);
     }},
    {"fixed_blocks",
     [](const Place& p, const Values& v) {
       const int64_t stride = v.whole("stride");
       const bool own = quotient_of(p.q, stride) == quotient_of(p.k, stride);
       return p.k <= p.q && (own || p.k % stride >= stride - v.whole("summary"));
     }},
    {"streaming_llm",
     [](const Place& p, const Values& v) {
       return p.k <= p.q && (p.k < v.whole("first") || p.k > p.q - v.whole("window"));
     }},
    {"longformer",
     [](const Place& p, const Values& v) {
       return std::abs(p.q - p.k) <= v.whole("reach") || v.at("is_global", {p.batch, p.q}) != 0 ||
              v.at("is_global", {p.batch, p.k}) != 0;
     }},
    {"bigbird",
     [](const Place& p, const Values& v) {
       const int64_t q = quotient_of(p.q, v.whole("block")), k = quotient_of(p.k, v.whole("block"));
       return std::abs(q - k) <= v.whole("reach") || std::min(q, k) < v.whole("global_blocks") ||
              v.at("random", {p.head, q, k}) != 0;
     }},
    {"block_sparse",
     [](const Place& p, const Values& v) {
       return v.at("visible", {p.batch, p.head, quotient_of(p.q, v.whole("query_block")),
                               quotient_of(p.k, v.whole("key_block"))}) != 0;
     }},
    {"dense_mask",
     [](const Place& p, const Values& v) {
       return v.at("visible", {p.batch, p.head, p.row, p.k}) != 0;
     }},
    {"prefix_lm",
     [](const Place& p, const Values& v) {
       return p.k <= p.q || p.k < v.whole_at("prefix", {p.batch});
     }},
    {"documents",
     [](const Place& p, const Values& v) {
       return v.at("document", {p.batch, p.q}) == v.at("document", {p.batch, p.k});
     }},
    {"documents_causal",
     [](const Place& p, const Values& v) {
       return p.k <= p.q && p.k >= v.whole_at("start", {p.batch, p.q});
     }},
    {"shared_prefix",
     [](const Place& p, const Values& v) {
       return p.k <= p.q &&
              (p.k < v.whole_at("prefix", {p.batch}) || p.k >= v.whole_at("start", {p.batch, p.q}));
     }},
    {"tree",
     [](const Place& p, const Values& v) {
       const int64_t prefix = v.whole_at("prefix", {p.batch});
       return p.k <= p.q &&
              (p.k < prefix || v.at("ancestor", {p.batch, p.q - prefix, p.k - prefix}) != 0);
     }},
    {"query_intervals",
     [](const Place& p, const Values& v) {
       return p.k >= v.whole_at("first", {p.batch, p.q}) && p.k < v.whole_at("end", {p.batch, p.q});
     }},
    {"key_intervals",
     [](const Place& p, const Values& v) {
       const auto hidden = [&](const char* first, const char* end) {
         return p.q >= v.whole_at(first, {p.batch, p.kv_head, p.k}) &&
                p.q < v.whole_at(end, {p.batch, p.kv_head, p.k});
       };
       return !hidden("lower_first", "lower_end") && !hidden("upper_first", "upper_end");
     }},
    // Noised tokens, then the same ones clean. Same half and same block; or
    // noised to clean of a block before; or clean to clean of no later block.
    {"block_diffusion",
     [](const Place& p, const Values& v) {
       const int64_t length = v.whole("length"), block = v.whole("block");
       const bool q_clean = p.q >= length, k_clean = p.k >= length;
       const int64_t q = p.q % length / block, k = p.k % length / block;
       return (q == k && q_clean == k_clean) || (!q_clean && k_clean && q > k) ||
              (q_clean && k_clean && q >= k);
     },
     [](Problem& problem, Random& random) {
       problem.params.set("length", 36);
       problem.params.set("block", static_cast<double>(random.integer(1, 12)));
     },
     72},
    {"neighborhood_1d",
     [](const Place& p, const Values& v) {
       return near({p.q}, {p.k}, {v.whole("length")}, {v.whole("size")});
     },
     [](Problem& problem, Random& random) {
       problem.params.set("length", 70);
       problem.params.set("size", static_cast<double>(random.integer(1, 75)));
     },
     70},
    {"neighborhood_2d",
     [](const Place& p, const Values& v) {
       const Grid grid = grid_2d(v);
       return near(row_by_row(grid, p.q), row_by_row(grid, p.k), grid,
                   {v.whole("size_y"), v.whole("size_x")});
     },
     draw_2d, 60},
    {"neighborhood_2d_tiled",
     [](const Place& p, const Values& v) {
       const Grid grid = grid_2d(v), tile = {v.whole("tile_y"), v.whole("tile_x")};
       return near(tile_by_tile(grid, tile, p.q), tile_by_tile(grid, tile, p.k), grid,
                   {v.whole("size_y"), v.whole("size_x")});
     },
     draw_2d, 60},
    {"neighborhood_3d",
     [](const Place& p, const Values& v) {
       const Grid grid = grid_3d(v);
       return near(row_by_row(grid, p.q), row_by_row(grid, p.k), grid,
                   {v.whole("size_z"), v.whole("size_y"), v.whole("size_x")});
     },
     draw_3d, 96},
    {"neighborhood_3d_tiled",
     [](const Place& p, const Values& v) {
       const Grid grid = grid_3d(v);
       return near(tile_by_tile(grid, tile_3d(v), p.q), tile_by_tile(grid, tile_3d(v), p.k), grid,
                   {v.whole("size_z"), v.whole("size_y"), v.whole("size_x")});
     },
     draw_3d, 96},
    // The same on whole tiles.
    {"sliding_tile",
     [](const Place& p, const Values& v) {
       const Grid grid = grid_3d(v), tile = tile_3d(v);
       Grid q = tile_by_tile(grid, tile, p.q), k = tile_by_tile(grid, tile, p.k), tiles = grid;
       for (size_t axis = 0; axis < 3; ++axis) {
         q[axis] /= tile[axis];
         k[axis] /= tile[axis];
         tiles[axis] /= tile[axis];
       }
       return near(q, k, tiles, {v.whole("size_z"), v.whole("size_y"), v.whole("size_x")});
     },
     draw_3d, 96},
    // Biases of zero, and scores that stay zero whatever is done to rows of zeros.
    {"alibi", everything, [](Problem& problem, Random&) { fill_table(problem, "slope", 0); }},
    {"dense_bias", everything, [](Problem& problem, Random&) { fill_table(problem, "bias", 0); }},
    {"graph_bias", everything, [](Problem& problem, Random&) { fill_table(problem, "bias", 0); }},
    {"relative_table", everything,
     [](Problem& problem, Random&) { fill_table(problem, "bias", 0); }},
    {"t5_bias", everything, [](Problem& problem, Random&) { fill_table(problem, "bias", 0); }},
    {"t5_causal", causal, [](Problem& problem, Random&) { fill_table(problem, "bias", 0); }},
    {"logit_scale", everything},
    {"softcapped", causal},
    {"qk_norm", causal},
    {"rope_half", causal},
    {"rope_interleaved", causal},
    {"mla", causal},
    {"inspected", causal},
    // A sink of minus infinity is none.
    {"sink_causal", causal,
     [](Problem& problem, Random&) { fill_table(problem, "sink", -INFINITY); }},
    {"sink_window",
     [](const Place& p, const Values& v) { return p.k <= p.q && p.q - p.k < v.whole("window"); },
     [](Problem& problem, Random&) { fill_table(problem, "sink", -INFINITY); }},
};

const MaskRow* row_of(const TestKernel& kernel) {
  for (const MaskRow& row : mask_rows) {
    if (kernel.variant_name() == row.variant) return &row;
  }
  return nullptr;
}

class CatalogueMean : public KernelTest {};
FOVEA_FOR_KERNELS(CatalogueMean, kernels_where([](const TestKernel& k) {
                    return k.info().d_qk <= 64 && row_of(k) != nullptr;
                  }));

TEST_P(CatalogueMean, IsThatOfThePredicate) { expect_means_of(GetParam(), *row_of(GetParam())); }

// A predicate of a variant that was renamed would test nothing.
TEST(CatalogueMeans, EveryVariantNamedHereExists) {
  for (const MaskRow& row : mask_rows) EXPECT_FALSE(kernels_of(row.variant).empty()) << row.variant;
}

}  // namespace
}  // namespace fovea::test
