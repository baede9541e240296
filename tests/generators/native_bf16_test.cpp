// native_bf16_test.cpp: what Halide emits for the targets of native bf16.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "generators/targets/target_table.h"
#include "tests/generators/scratch_folder.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Assembly of 16 sums of products of bf16, the pairs of a sum next to each other.
std::string dot_product_assembly(const TargetRow& row) {
  using namespace Halide;
  Var x("x");
  RVar ro("ro"), ri("ri");
  RDom r(0, 64);
  ImageParam a(BFloat(16), 1, "a"), b(BFloat(16), 3, "b");
  Func sum("sum");
  sum(x) = 0.0f;
  sum(x) += cast<float>(a(r)) * cast<float>(b(r % 2, x, r / 2));
  sum.bound(x, 0, 16).vectorize(x, 16);
  sum.update().split(r, ro, ri, 2).reorder(ri, x, ro).vectorize(x, 16).atomic().vectorize(ri);
  b.dim(0).set_bounds(0, 2);
  b.dim(1).set_stride(2);
  const ScratchFolder folder;
  const std::string file = (folder.path() / "dot.s").string();
  sum.compile_to_assembly(file, {a, b}, "dot", kernel_target(row));
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(NativeBf16, IsUsedWhereTheTargetIsForIt) {
  for (const TargetRow& row : target_table()) {
    SCOPED_TRACE(row.name);
    const bool is_native = row.is_for("bf16") && !row.is_for("f32");
    const std::string assembly = dot_product_assembly(row);
    EXPECT_THAT(assembly, HasSubstr("dot"));
    if (is_native) {
      EXPECT_THAT(assembly, HasSubstr("vdpbf16ps"));
    } else {
      EXPECT_THAT(assembly, Not(HasSubstr("vdpbf16ps")));
    }
    // Tiles are no part of what a target asks the CPU for.
    for (const char* of_amx : {"tmm", "ldtilecfg", "tilerelease"})
      EXPECT_THAT(assembly, Not(HasSubstr(of_amx)));
  }
}

}  // namespace
}  // namespace fovea
