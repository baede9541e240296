// workloads.cpp: shapes of calls, by class.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/workloads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace fovea {
namespace {

struct CallExtents {
  int64_t heads, kv_heads, q_len, kv_len;
};

const std::vector<CallExtents> short_prefill = {{8, 8, 96, 96}, {8, 8, 200, 200}, {4, 4, 400, 400}};
const std::vector<CallExtents> long_prefill = {{1, 1, 2048, 2048}, {1, 1, 4096, 4096}};
const std::vector<CallExtents> any_prefill = {{8, 8, 96, 96}, {4, 4, 400, 400}, {1, 1, 2048, 2048}};
const std::vector<CallExtents> short_decode = {{8, 8, 1, 300}, {32, 8, 1, 1000}};
const std::vector<CallExtents> long_decode = {{8, 8, 1, 16384}, {32, 8, 1, 16384}};
const std::vector<CallExtents> any_decode = {{8, 8, 1, 300}, {32, 8, 1, 4096}, {8, 8, 1, 16384}};

}  // namespace

const std::vector<std::string>& workload_names() {
  static const std::vector<std::string> names = {"any", "short", "long"};
  return names;
}

std::vector<ExampleShape> workload_shapes(const std::string& name, const std::string& pass,
                                          int d_qk, int d_v) {
  const bool decode = pass == "decode";
  const std::vector<CallExtents>* rows = name == "short" ? (decode ? &short_decode : &short_prefill)
                                         : name == "long" ? (decode ? &long_decode : &long_prefill)
                                         : name == "any"  ? (decode ? &any_decode : &any_prefill)
                                                          : nullptr;
  if (!rows)
    throw std::invalid_argument(
        fmt::format("class '{}': allowed is {}", name, fmt::join(workload_names(), ", ")));
  std::vector<ExampleShape> shapes;
  for (const CallExtents& r : *rows) {
    ExampleShape s;
    s.heads = r.heads, s.kv_heads = r.kv_heads, s.q_len = r.q_len, s.kv_len = r.kv_len;
    s.d_qk = d_qk, s.d_v = d_v;
    shapes.push_back(s);
  }
  return shapes;
}

}  // namespace fovea
