// main.cpp: "bank" looks at "river" and at "the", and becomes mostly river.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "my_attention.hpp"

int main() {
  const float bank[] = {1, 0};                     // the query: what "bank" looks for
  const float keys[] = {std::log(9.0f), 0, 0, 0};  // what "river" and "the" offer
  const float values[] = {10, 2, 1, 1};            // what they carry
  float weights[2], mixed[2];
  const float one_hot[] = {1, 0, 0, 1}, scale = 1;  // values that show the weights themselves

  const fovea_tensor q = fovea::tensor(bank, {1, 1, 1, 2}), k = fovea::tensor(keys, {1, 1, 2, 2});
  fovea::Call call(q, k, fovea::tensor(one_hot, {1, 1, 2, 2}),
                   fovea::tensor(weights, {1, 1, 1, 2}));
  call.scale = &scale;
  fovea::Status status = my_attention::full::run(call);
  call.v = fovea::tensor(values, {1, 1, 2, 2});
  call.out = fovea::tensor(mixed, {1, 1, 1, 2});
  if (status.ok()) status = my_attention::full::run(call);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;
  std::printf("river %.1f  the %.1f  ->  bank = (%.1f, %.1f)\n", weights[0], weights[1], mixed[0],
              mixed[1]);
}
