// call.cpp: the calls that docs/call-a-kernel.md shows.
// SPDX-License-Identifier: Apache-2.0
#include <docs_attention.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// Projections usually leave [batch, row, head, feature]: say so with strides, nothing is copied.
fovea::Status capped(const std::vector<float>& q, const std::vector<float>& k,
                     const std::vector<float>& v, std::vector<float>& out) {
  const fovea::Shape query = {1, 8, 100, 64}, key = {1, 2, 100, 64};  // 8 query heads share 2
  fovea::Call call(fovea::tensor_bshd(q.data(), query), fovea::tensor_bshd(k.data(), key),
                   fovea::tensor_bshd(v.data(), key), fovea::tensor_bshd(out.data(), query));
  docs_attention_softcapped_window_params params = {50.0f, 32};
  return docs_attention::softcapped_window::run(call, params);
}

// Two sequences of different length in one padded batch, a workspace of the caller's, one thread.
fovea_status padded(const fovea_tensor* q, const fovea_tensor* k, const fovea_tensor* v,
                    const fovea_tensor* out, const float* slopes, int64_t heads) {
  const int32_t lengths[2] = {100, 37};
  fovea_exec exec = {};
  exec.size = sizeof exec;
  exec.threads = 1;
  fovea_call call = {};
  call.size = sizeof call;
  call.q = *q;
  call.k = *k;
  call.v = *v;
  call.out = *out;
  call.q_len = lengths;
  call.kv_len = lengths;
  call.exec = &exec;
  docs_attention_alibi_params params = {};
  params.slope.data = slopes;
  params.slope.extent[0] = heads;
  params.slope.stride[0] = 1;

  call.workspace_size = docs_attention_alibi_workspace(&call);
  call.workspace = std::malloc(call.workspace_size);
  const fovea_status status = docs_attention_alibi(&call, &params);
  if (status != FOVEA_OK) std::fprintf(stderr, "%s\n", fovea_last_message());
  std::free(call.workspace);
  return status;
}

}  // namespace

int main() {
  std::vector<float> q(8 * 100 * 64, 0.5f), k(2 * 100 * 64, 0.25f), v(2 * 100 * 64, 2.0f),
      out(q.size());
  if (!capped(q, k, v, out).ok() || out[0] != 2.0f) return 1;

  std::vector<float> q2(2 * 2 * 100 * 64), out2(q2.size());
  const float slopes[2] = {0.5f, 0.25f};
  const fovea_tensor view = fovea::tensor(q2.data(), {2, 2, 100, 64});
  const fovea_tensor result = fovea::tensor(out2.data(), {2, 2, 100, 64});
  if (padded(&view, &view, &view, &result, slopes, 2) != FOVEA_OK) return 1;

  fovea::Call call(view, view, view, result);
  std::puts(docs_attention::alibi::explain(call).c_str());
  return 0;
}
