// main.cpp: "bank" looks at "river" and at "the", and becomes mostly river.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "my_attention.hpp"

int main() {
  const float bank[2] = {1, 0};                              // query: what "bank" looks for
  const float keys[2][2] = {{std::log(9.0f), 0}, {0, 0}};    // what "river" and "the" offer
  const float values[2][4] = {{1, 0, 10, 2}, {0, 1, 1, 1}};  // what they carry
  const float scale = 1;
  float out[4];
  fovea::Call call(fovea::tensor(bank, {1, 1, 1, 2}), fovea::tensor(*keys, {1, 1, 2, 2}),
                   fovea::tensor(*values, {1, 1, 2, 4}), fovea::tensor(out, {1, 1, 1, 4}));
  call.scale = &scale;
  const fovea::Status status = my_attention::full::run(call);
  if (!status.ok()) return std::puts(status.message()), 1;
  std::printf("river %.1f  the %.1f  ->  bank = (%.1f, %.1f)\n", out[0], out[1], out[2], out[3]);
}
