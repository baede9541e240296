// main.cpp: equal scores, so that a row of the output is the mean of the values it sees.
// SPDX-License-Identifier: Apache-2.0
#include <my_attention.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  constexpr int rows = 40, d = 32, window = 7;
  std::vector<float> zeros(rows * d, 0.0F), v(rows * d), out(rows * d);
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < d; ++i) v[row * d + i] = static_cast<float>(row + i);
  }
  const fovea::Shape shape = {1, 1, rows, d};
  const fovea::Strides strides = fovea::bhsd_strides(shape);
  const fovea_tensor equal = fovea::tensor(zeros.data(), shape, strides);
  const fovea::Call call(equal, equal, fovea::tensor(v.data(), shape, strides),
                         fovea::tensor(out.data(), shape, strides));
  my_attention_recent_params params = {};
  params.window = window;
  char text[4096];
  my_attention_recent_explain(&call, text, sizeof(text));
  std::printf("%s", text);
  if (my_attention_recent(&call, &params) != FOVEA_OK) {
    std::printf("%s\n", fovea_last_message());
    return 1;
  }
  for (int row = 0; row < rows; ++row) {
    const int first = row < window ? 0 : row - window + 1;
    for (int i = 0; i < d; ++i) {
      const float mean = static_cast<float>(first + row) / 2 + static_cast<float>(i);
      if (std::fabs(out[row * d + i] - mean) > 1e-4F) {
        std::printf("row %d, feature %d: %g, not %g\n", row, i, out[row * d + i], mean);
        return 1;
      }
    }
  }
  std::printf("right\n");
  return 0;
}
