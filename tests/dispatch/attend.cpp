// attend.cpp: one causal call for each type and pass of the library, checked against plain loops.
// Prints a line for each: type, pass, status, the target that was chosen or "none", and what
// explain says of a call that no kernel can serve. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "fovea_dispatch_kernels.h"

namespace {

constexpr int kHeads = 2, kFeatures = 16, kKeys = 70;

// Exact in bf16.
float small_number(uint32_t* state) {
  *state = *state * 1664525U + 1013904223U;
  return static_cast<float>(static_cast<int>(*state >> 26) - 32) / 16;
}

uint16_t bf16_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

float from_bf16(uint16_t value) {
  const uint32_t bits = uint32_t{value} << 16;
  float result = 0;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

struct Rows {
  std::vector<float> numbers;
  std::vector<uint16_t> halves;

  Rows(int rows, uint32_t seed) {
    for (int i = 0; i < kHeads * rows * kFeatures; ++i) {
      numbers.push_back(small_number(&seed));
      halves.push_back(bf16_of(numbers.back()));
    }
  }
  fovea_tensor tensor(fovea_dtype dtype, int rows) {
    void* data = dtype == FOVEA_F32 ? static_cast<void*>(numbers.data()) : halves.data();
    return {data,
            dtype,
            {1, kHeads, rows, kFeatures},
            {kHeads * rows * kFeatures, rows * kFeatures, kFeatures, 1}};
  }
};

// The largest difference to plain loops in double.
double error_of(const Rows& q, const Rows& k, const Rows& v, const Rows& out, fovea_dtype dtype,
                int rows) {
  double worst = 0;
  for (int head = 0; head < kHeads; ++head) {
    for (int row = 0; row < rows; ++row) {
      const int last = kKeys - rows + row;
      std::vector<double> weights;
      double sum = 0;
      for (int key = 0; key <= last; ++key) {
        double score = 0;
        for (int d = 0; d < kFeatures; ++d)
          score += double{q.numbers[(head * rows + row) * kFeatures + d]} *
                   k.numbers[(head * kKeys + key) * kFeatures + d];
        weights.push_back(std::exp(score / std::sqrt(kFeatures)));
        sum += weights.back();
      }
      for (int d = 0; d < kFeatures; ++d) {
        double wanted = 0;
        for (int key = 0; key <= last; ++key)
          wanted += weights[key] / sum * v.numbers[(head * kKeys + key) * kFeatures + d];
        const int at = (head * rows + row) * kFeatures + d;
        const double got = dtype == FOVEA_F32 ? out.numbers[at] : from_bf16(out.halves[at]);
        worst = std::fmax(worst, std::isfinite(got) ? std::fabs(got - wanted) : INFINITY);
      }
    }
  }
  return worst;
}

// "x86-avx2" of "chosen: fovea_prefill__causal__f32__d16__x86_avx2 (…"
std::string chosen_target(const std::string& explanation) {
  if (explanation.rfind("chosen: ", 0) != 0) return "none";
  const std::string name = explanation.substr(8, explanation.find(' ', 8) - 8);
  std::string target = name.substr(name.rfind("__") + 2);
  for (char& c : target) c = c == '_' ? '-' : c;
  return target;
}

bool attend(const char* name, fovea_dtype dtype, double bound, const char* pass, int rows) {
  Rows q(rows, 1), k(kKeys, 2), v(kKeys, 3), out(rows, 4);
  fovea_exec exec = {};
  exec.size = sizeof(exec);
  exec.pass = pass;
  fovea_call call = {};
  call.size = sizeof(call);
  call.q = q.tensor(dtype, rows);
  call.k = k.tensor(dtype, kKeys);
  call.v = v.tensor(dtype, kKeys);
  call.out = out.tensor(dtype, rows);
  call.exec = &exec;
  char explanation[8192];
  fovea_dispatch_kernels_causal_explain(&call, explanation, sizeof(explanation));
  const fovea_dispatch_kernels_causal_params params = {};
  const fovea_status status = fovea_dispatch_kernels_causal(&call, &params);
  std::printf("%s %s %s %s\n", name, pass, fovea_status_name(status),
              chosen_target(explanation).c_str());
  if (status != FOVEA_OK) {
    std::printf("%s\n%s", fovea_last_message(), explanation);
    return status == FOVEA_UNSUPPORTED;
  }
  const double error = error_of(q, k, v, out, dtype, rows);
  if (error <= bound) return true;
  std::printf("wrong: off by %g, allowed %g\n", error, bound);
  return false;
}

}  // namespace

int main() {
  bool right = true;
  for (const auto& [pass, rows] : {std::pair<const char*, int>{"prefill", 40}, {"decode", 2}}) {
    right = attend("f32", FOVEA_F32, 1e-5, pass, rows) && right;
    right = attend("bf16", FOVEA_BF16, 3e-2, pass, rows) && right;
  }
  return right ? 0 : 1;
}
