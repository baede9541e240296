// Scratch memory of kernels: one worker's slice of the workspace, used as a stack.
//
// Halide releases a piece after its last use, which need not be the reverse order of allocation. So
// every piece has a header; one that is released below a live one is only marked, and goes when
// everything above it has gone. Pieces of one scope are all released by its end, so a kernel's
// demand is at most the sum of its allocations, each rounded up to kAlignment plus one header.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>

namespace {

// Whole cache lines and whole AVX-512 registers.
constexpr size_t kAlignment = 64;

struct alignas(kAlignment) Header {
  unsigned char* previous;  // header of the piece below, or null
  size_t used_before;
  bool released;
};
static_assert(sizeof(Header) == kAlignment, "payloads follow their header");

}  // namespace

extern "C" void* fovea_scratch_allocate(void* scratch, size_t size) {
  auto* stack = static_cast<fovea_scratch*>(scratch);
  if (stack == nullptr || stack->base == nullptr || stack->used > stack->size) return nullptr;
  const size_t padding =
      (kAlignment - (reinterpret_cast<uintptr_t>(stack->base) + stack->used) % kAlignment) %
      kAlignment;
  const size_t room = stack->size - stack->used;
  const size_t overhead = padding + sizeof(Header);
  if (overhead > room || size > room - overhead) return nullptr;
  unsigned char* start = stack->base + stack->used + padding;
  auto* header = reinterpret_cast<Header*>(start);
  header->previous = stack->last;
  header->used_before = stack->used;
  header->released = false;
  stack->last = start;
  stack->used += overhead + size;
  return start + sizeof(Header);
}

extern "C" void fovea_scratch_release(void* scratch, void* memory) {
  auto* stack = static_cast<fovea_scratch*>(scratch);
  if (stack == nullptr || memory == nullptr) return;
  reinterpret_cast<Header*>(static_cast<unsigned char*>(memory) - sizeof(Header))->released = true;
  while (stack->last != nullptr) {
    const auto* top = reinterpret_cast<const Header*>(stack->last);
    if (!top->released) return;
    stack->used = top->used_before;
    stack->last = top->previous;
  }
}
