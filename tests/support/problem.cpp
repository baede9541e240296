// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/src/gpu/device.h"

namespace fovea::test {
namespace {

constexpr uint32_t fill_pattern = 0xffffffffu;

uint32_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float pattern() {
  float value = 0;
  std::memcpy(&value, &fill_pattern, sizeof(value));
  return value;
}

std::string difference(const char* name, const std::vector<float>& got,
                       const std::vector<float>& expected) {
  if (got.size() != expected.size()) return std::string(name) + " differs in size";
  for (size_t i = 0; i < got.size(); ++i) {
    if (bits_of(got[i]) == bits_of(expected[i])) continue;
    return fmt::format("{}[{}] is {}, not {} (difference {})", name, i, got[i], expected[i],
                       got[i] - expected[i]);
  }
  return "";
}

ParameterBlock fixed_parameters(const TestKernel& kernel, const CallSetup& setup) {
  Random random(kernel.variant_name(), 0);
  return {kernel, setup, random};
}

}  // namespace

std::string bit_difference(const Results& got, const Results& expected) {
  const std::string differences[] = {
      difference("out", got.out, expected.out), difference("lse", got.lse, expected.lse),
      difference("row_max", got.row_max, expected.row_max),
      difference("row_sum", got.row_sum, expected.row_sum),
      difference("probabilities", got.probabilities, expected.probabilities)};
  for (const std::string& text : differences) {
    if (!text.empty()) return text;
  }
  return "";
}

Problem::Problem(const TestKernel& kernel, const CallSetup& setup, Random& random)
    : params(kernel, setup, random), kernel_(kernel), setup_(setup) {
  allocate_();
  const auto number = [&](int64_t, int64_t, int64_t, int64_t) {
    return static_cast<double>(setup.spread * random.normal());
  };
  fill_q(number);
  fill_k(number);
  fill_v([&](int64_t, int64_t, int64_t, int64_t) { return random.real(-1, 1); });
}

Problem::Problem(const Problem& other, const CallSetup& setup)
    : params(other.params), kernel_(other.kernel_), setup_(setup) {
  allocate_();
  const auto copy_of = [](const StridedTensor& from) {
    return [&from](int64_t b, int64_t h, int64_t row, int64_t d) {
      return static_cast<double>(from.at(b, h, row, d));
    };
  };
  fill_q(copy_of(other.q));
  fill_k(copy_of(other.k));
  fill_v(copy_of(other.v));
}

Problem::Problem(const TestKernel& kernel, const CallSetup& setup)
    : params(fixed_parameters(kernel, setup)), kernel_(kernel), setup_(setup) {
  allocate_();
  const auto zero = [](int64_t, int64_t, int64_t, int64_t) { return 0.0; };
  fill_q(zero);
  fill_k(zero);
  fill_v(zero);
}

void Problem::allocate_() {
  const CallSetup& s = setup_;
  const int64_t d_qk = kernel_.info().d_qk, d_v = kernel_.info().d_v;
  const int64_t stored_q = s.unreadable_tail ? s.q_len_of(0) : -1;
  const int64_t stored_kv = s.unreadable_tail ? s.kv_len_of(0) : -1;
  if (s.packed) {
    const int64_t heads = s.heads + 2 * s.kv_heads, row = heads * d_qk, rows = s.q_rows;
    const auto memory = std::make_shared<GuardedMemory>(
        static_cast<size_t>(s.batch * rows * row * element_size(dtype())), s.q.edge);
    const std::array<int64_t, 4> stride = {rows * row, d_qk, row, 1};
    q = {dtype(), memory, 0, {s.batch, s.heads, rows, d_qk}, stride};
    k = {dtype(), memory, s.heads * d_qk, {s.batch, s.kv_heads, rows, d_qk}, stride};
    v = {dtype(), memory, (s.heads + s.kv_heads) * d_qk, {s.batch, s.kv_heads, rows, d_qk}, stride};
  } else {
    q = {dtype(), {s.batch, s.heads, s.q_rows, d_qk}, s.q, stored_q};
    k = {dtype(), {s.batch, s.kv_heads, s.kv_rows, d_qk}, s.k, stored_kv};
    v = {dtype(), {s.batch, s.kv_heads, s.kv_rows, d_v}, s.v, stored_kv};
  }
  out = {dtype(), {s.batch, s.heads, s.q_rows, d_v}, s.out, stored_q};
  if (s.wants_lse) lse = {FOVEA_F32, {s.batch, s.heads, s.q_rows, 1}, s.lse, stored_q};
  if (s.wants_row_max) row_max = {FOVEA_F32, {s.batch, s.heads, s.q_rows, 1}, s.row_max, stored_q};
  if (s.wants_row_sum) row_sum = {FOVEA_F32, {s.batch, s.heads, s.q_rows, 1}, s.row_sum, stored_q};
  if (s.wants_probabilities)
    probabilities = {FOVEA_F32, {s.batch, s.heads, s.q_rows, s.kv_rows}, s.probabilities, stored_q};

  exec.size = sizeof(exec);
  exec.threads = s.threads;
  exec.target = kernel_.target().name;
  exec.device = detail::device_of(kernel_.target().architecture);
  exec.host_tensors = kernel_.on_device() ? 1 : 0;
  exec.pass = kernel_.pass_name();
  call.size = sizeof(call);
  call.q = q.view();
  call.k = k.view();
  call.v = v.view();
  call.out = out.view();
  if (s.wants_lse) call.lse = lse.view();
  if (s.wants_row_max) call.row_max = row_max.view();
  if (s.wants_row_sum) call.row_sum = row_sum.view();
  if (s.wants_probabilities) call.probabilities = probabilities.view();
  if (setup_.scale) call.scale = &*setup_.scale;
  if (!s.q_len.empty()) call.q_len = setup_.q_len.data();
  if (!s.kv_len.empty()) call.kv_len = setup_.kv_len.data();
  if (!s.q_offset.empty()) call.q_offset = setup_.q_offset.data();
  call.exec = &exec;
  if (s.workspace == Workspace::Exact) {
    const size_t size = fovea_variant_workspace(kernel_.library, kernel_.info().variant, &call);
    workspace_ = std::make_shared<GuardedMemory>(size, Edge::End);
    // Against the unreadable page and at an odd address.
    call.workspace = workspace_->data();
    call.workspace_size = size;
  }
}

std::vector<int64_t> Problem::q_lens_() const {
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < setup_.batch; ++b) rows.push_back(setup_.q_len_of(b));
  return rows;
}

std::vector<int64_t> Problem::kv_lens_() const {
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < setup_.batch; ++b) rows.push_back(setup_.kv_len_of(b));
  return rows;
}

void Problem::fill_(const StridedTensor& tensor, int64_t heads, const std::vector<int64_t>& rows,
                    const Element& value) {
  for (size_t b = 0; b < rows.size(); ++b) {
    const auto batch = static_cast<int64_t>(b);
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < rows[b]; ++i) {
        for (int64_t d = 0; d < tensor.view().extent[3]; ++d) {
          tensor.at(batch, h, i, d) = static_cast<float>(value(batch, h, i, d));
        }
      }
    }
  }
}

std::vector<Problem::NamedOutput> Problem::wanted_outputs_() const {
  const NamedOutput all[] = {
      {"out", &out, &Results::out, false},
      {"lse", &lse, &Results::lse, false},
      {"row_max", &row_max, &Results::row_max, false},
      {"row_sum", &row_sum, &Results::row_sum, false},
      {"probabilities", &probabilities, &Results::probabilities, true},
  };
  std::vector<NamedOutput> wanted;
  for (const NamedOutput& output : all) {
    if (output.tensor->memory()) wanted.push_back(output);
  }
  if (call.out.data != out.view().data) wanted.front().tensor = &q;  // in place
  return wanted;
}

int64_t Problem::written_(const NamedOutput& output, int64_t b) const {
  return output.is_per_key ? setup_.kv_len_of(b) : output.tensor->view().extent[3];
}

fovea_status Problem::run() {
  for (const NamedOutput& output : wanted_outputs_()) {
    if (output.tensor == &q) continue;
    std::memset(output.tensor->memory()->data(), 0xff, output.tensor->memory()->size());
  }
  return run_again();
}

Results Problem::results() const {
  Results r;
  r.batch = setup_.batch;
  r.heads = setup_.heads;
  r.rows = setup_.q_rows;
  r.d_v = kernel_.info().d_v;
  r.keys = setup_.kv_rows;
  r.dtype = dtype();
  for (const NamedOutput& output : wanted_outputs_()) {
    const int64_t width = output.tensor->view().extent[3];
    std::vector<float>& dense = r.*output.dense;
    dense.assign(static_cast<size_t>(r.batch * r.heads * r.rows * width), pattern());
    for (int64_t b = 0; b < r.batch; ++b) {
      for (int64_t h = 0; h < r.heads; ++h) {
        for (int64_t i = 0; i < setup_.q_len_of(b); ++i) {
          float* row = dense.data() + r.row(b, h, i) * static_cast<size_t>(width);
          for (int64_t d = 0; d < written_(output, b); ++d) row[d] = output.tensor->at(b, h, i, d);
        }
      }
    }
  }
  return r;
}

// Everything of an output's memory that is not one of its rows must hold the pattern still.
std::string Problem::foreign_write_() const {
  for (const NamedOutput& output : wanted_outputs_()) {
    const StridedTensor& t = *output.tensor;
    if (&t == &q) continue;
    if (!t.memory()->untouched_outside()) return std::string("written outside of ") + output.name;
    std::vector<unsigned char> bytes(t.memory()->data(), t.memory()->data() + t.memory()->size());
    for (int64_t b = 0; b < setup_.batch; ++b) {
      for (int64_t h = 0; h < setup_.heads; ++h) {
        for (int64_t i = 0; i < setup_.q_len_of(b); ++i) {
          for (int64_t d = 0; d < written_(output, b); ++d) {
            std::fill_n(bytes.begin() + (t.at(b, h, i, d).address() - t.memory()->data()),
                        element_size(t.view().dtype), 0xff);
          }
        }
      }
    }
    if (!std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c == 0xff; })) {
      return std::string("written between the elements of ") + output.name +
             ", or past q_len or kv_len";
    }
  }
  if (workspace_ && !workspace_->untouched_outside()) return "written outside of the workspace";
  return "";
}

Results Problem::checked_run() {
  const fovea_status status = run();
  EXPECT_EQ(status, FOVEA_OK) << fovea_last_message() << "\n" << text();
  EXPECT_EQ(foreign_write_(), "") << text();
  return results();
}

std::string Problem::text() const {
  return fmt::format("{}: {}{} (FOVEA_TEST_SEED={})", kernel_.info().name, setup_.text(),
                     params.text(), base_seed());
}

}  // namespace fovea::test
