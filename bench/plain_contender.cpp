// plain_contender.cpp: attention as one writes it down, for comparison.
// SPDX-License-Identifier: Apache-2.0
#include "bench/plain_contender.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/caches.h"
#include "bench/samples.h"

namespace fovea::bench {
namespace {

class PlainContender : public Contender {
 public:
  explicit PlainContender(const Problem& problem)
      : problem_(problem), causal_(problem.variant().name() == "causal") {}

  double run(const TimedCalls& timed) override {
    if (timed.warm_up) call();
    double seconds = 0;
    for (int i = 0; i < timed.calls; ++i) {
      if (timed.cold) flush_caches();
      seconds += seconds_of([&] { call(); });
    }
    return seconds;
  }

  // It is where it belongs.
  void write_output() override {}

 private:
  void call() const {
    const ExampleShape& s = problem_.shape();
    const fovea_call& call = problem_.call();
    const float scale = 1.0f / std::sqrt(static_cast<float>(s.d_qk));
    std::vector<float> weight(static_cast<size_t>(s.kv_len));
    for (int64_t head = 0; head < s.batch * s.heads; ++head) {
      const int64_t b = head / s.heads, h = head % s.heads;
      const int64_t kv_head = b * s.kv_heads + h / (s.heads / s.kv_heads);
      const float* k = static_cast<const float*>(call.k.data) + kv_head * s.kv_len * s.d_qk;
      const float* v = static_cast<const float*>(call.v.data) + kv_head * s.kv_len * s.d_v;
      for (int64_t i = 0; i < s.q_len; ++i) {
        const int64_t keys = causal_ ? std::max<int64_t>(0, i + 1 + s.kv_len - s.q_len) : s.kv_len;
        const float* q = static_cast<const float*>(call.q.data) + (head * s.q_len + i) * s.d_qk;
        float* o = static_cast<float*>(call.out.data) + (head * s.q_len + i) * s.d_v;
        float largest = -HUGE_VALF, sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          float score = 0;
          for (int64_t d = 0; d < s.d_qk; ++d) score += q[d] * k[j * s.d_qk + d];
          weight[static_cast<size_t>(j)] = score * scale;
          largest = std::max(largest, score * scale);
        }
        std::fill(o, o + s.d_v, 0.0f);
        for (int64_t j = 0; j < keys; ++j) {
          const float w = std::exp(weight[static_cast<size_t>(j)] - largest);
          sum += w;
          for (int64_t d = 0; d < s.d_v; ++d) o[d] += w * v[j * s.d_v + d];
        }
        for (int64_t d = 0; d < s.d_v && keys > 0; ++d) o[d] /= sum;
      }
    }
  }

  const Problem& problem_;
  bool causal_;
};

}  // namespace

std::unique_ptr<Contender> plain_contender(const Problem& problem, int threads) {
  const std::string& name = problem.variant().name();
  if (problem.dtype() != FOVEA_F32 || (name != "full" && name != "causal") || threads != 1)
    throw Unavailable("the plain loop is full or causal attention in f32 on one thread");
  return std::make_unique<PlainContender>(problem);
}

}  // namespace fovea::bench
