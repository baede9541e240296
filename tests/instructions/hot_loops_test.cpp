// hot_loops_test.cpp: what counts as a hot loop. SPDX-License-Identifier: Apache-2.0
#include "generators/inspect/hot_loops.h"

#include <gtest/gtest.h>

namespace fovea::test {
namespace {

// As llvm-objdump writes it: a loop nest whose inner loop is hot, a loop without multiply-adds, and
// a second function whose addresses begin again.
constexpr const char* disassembly = R"(
kernel.o:	file format elf64-x86-64

Disassembly of section .text.kernel:

0000000000000000 <kernel>:
       0:      	pushq	%rbp
       1:      	vmovaps	%zmm1, 0x40(%rsp)
       8:      	vfmadd231ps	%zmm1, %zmm2, %zmm3
      10:      	vbroadcastss	(%rax), %zmm0
      16:      	vfmadd231ps	0x80(%rsp), %zmm0, %zmm3
      1c:      	vfmadd231ps	(%rsp,%rax,4), %zmm0, %zmm4
      22:      	vfnmadd213ps	%zmm1, %zmm2, %zmm3 {%k1}
      24:      	movq	0x18(%rsp), %rcx
      26:      	jle	0x40 <kernel+0x40>
      28:      	jne	0x10 <kernel+0x10>
      2a:      	vfmadd231ps	%zmm1, %zmm2, %zmm5
      30:      	jmp	0x8 <kernel+0x8>
      40:      	vaddps	%zmm1, %zmm2, %zmm3
      46:      	jb	0x40 <kernel+0x40>
      48:      	retq

Disassembly of section .text.other:

0000000000000000 <other>:
       0:      	mulps	%xmm1, %xmm2
       4:      	addps	%xmm2, %xmm3
       8:      	ja	0x0 <other>
)";

TEST(HotLoops, AreTheInnermostWithMultiplyAdds) {
  const HotLoops sums = hot_loops(disassembly);
  EXPECT_EQ(sums.loops, 2);
  EXPECT_EQ(sums.instructions, 7 + 3);
  EXPECT_EQ(sums.multiply_adds, 3 + 1);
  EXPECT_EQ(sums.spills, 1);
  EXPECT_EQ(sums.masked_multiply_adds, 1);
}

TEST(HotLoops, NoneInTextWithoutInstructions) {
  EXPECT_EQ(hot_loops("").loops, 0);
  EXPECT_EQ(hot_loops("kernel.o: file format elf64-x86-64\n").loops, 0);
}

constexpr const char* arm_disassembly = R"(
kernel.o:	file format elf64-littleaarch64

0000000000000000 <kernel>:
       0: stp	q8, q9, [sp, #0x20]
       4: ldr	q26, [x15]
       8: ldr	q1, [sp, #0x10]
       c: ldr	q2, [sp, x3]
      10: ldr	x3, [sp, #0x8]
      14: fmla	v25.4s, v10.4s, v26.s[0]
      18: fmls	v24.4s, v10.4s, v26.s[1]
      1c: tbz	w3, #0x1, 0x30 <kernel+0x30>
      20: b.ne	0x4 <kernel+0x4>
      24: fmla	v1.4s, v2.4s, v3.4s
      28: str	q1, [sp]
      2c: cbnz	x1, 0x24 <kernel+0x24>
      30: ret
)";

TEST(HotLoops, OfArm) {
  const HotLoops sums = hot_loops(arm_disassembly);
  EXPECT_EQ(sums.loops, 2);
  EXPECT_EQ(sums.instructions, 8 + 3);
  EXPECT_EQ(sums.multiply_adds, 2 + 1);
  EXPECT_EQ(sums.spills, 1 + 1);
  EXPECT_EQ(sums.masked_multiply_adds, 0);
}

TEST(HotLoops, AsTextForAnAssembler) {
  const std::vector<DisassembledFunction> functions = functions_of(arm_disassembly);
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].name, "kernel");
  const std::vector<Loop> loops = hot_loops(functions[0]);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].multiply_adds, 2);
  EXPECT_EQ(loops[0].vector_bytes, 16);
  EXPECT_EQ(loop_text(loops[0]).multiply_adds,
            "fmla v25.4s, v10.4s, v26.s[0]\nfmls v24.4s, v10.4s, v26.s[1]\n");
  EXPECT_EQ(loop_text(loops[1]).all, "fmla v1.4s, v2.4s, v3.4s\nstr q1, [sp]\ncbnz x1, #0\n");
}

// With the names of relocations (-r), and without.
TEST(HotLoops, CallsHaveNames) {
  const std::vector<DisassembledFunction> functions = functions_of(
      "0000000000000000 <kernel>:\n"
      "       0:      \tcallq\t0x5 <kernel+0x5>\n"
      "\t\t0000000000000001:  R_X86_64_PLT32\tmemset-0x4\n"
      "       5:      \tcallq\t*%rax\n"
      "0000000000000100 <other>:\n"
      "     100:      \tbl\t0x200 <fovea_scratch_allocate>\n");
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].calls, (std::vector<std::string>{"memset", "*"}));
  EXPECT_EQ(functions[1].calls, std::vector<std::string>{"fovea_scratch_allocate"});
}

}  // namespace
}  // namespace fovea::test
