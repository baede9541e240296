// SPDX-License-Identifier: Apache-2.0
#include "visibility.h"

#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/reference.h>

#include <numeric>

#include "table_entries.h"

namespace fovea::test {
namespace {

// Extents become numbers, which every interpreter knows.
class ExtentsAsNumbers : public Halide::Internal::IRMutator {
 public:
  explicit ExtentsAsNumbers(const ParameterValues& values) : values_(values) {}

 private:
  using Halide::Internal::IRMutator::visit;
  Expr visit(const Halide::Internal::Call* op) override {
    const std::string prefix = extent_prefix;
    if (op->name.compare(0, prefix.size(), prefix) != 0)
      return Halide::Internal::IRMutator::visit(op);
    const auto axis = Halide::Internal::as_const_int(op->args.at(0));
    return static_cast<int>(
        values_.at(op->name.substr(prefix.size())).table.extent[axis ? *axis : 0]);
  }
  const ParameterValues& values_;
};

}  // namespace

std::vector<char> visible_keys(const Problem& problem, int64_t b, int64_t h, int64_t i,
                               int64_t keys) {
  const Variant& variant = problem.kernel().declaration();
  const ParameterValues values = parameter_values(variant, problem.params.data());
  const CallSetup& setup = problem.setup();
  Environment<double> environment;
  environment.lanes = static_cast<size_t>(keys);
  for (const auto& parameter : variant.parameters()) {
    if (parameter->kind == Parameter::Kind::Table) continue;
    const double value = values.at(parameter->name).scalar;
    environment.variables[parameter->name] =
        parameter->type.is_float() ? Lanes<double>::real(value)
                                   : Lanes<double>::integer(static_cast<int64_t>(value));
  }
  const auto set = [&](const char* name, int64_t value) {
    environment.variables[name] = Lanes<double>::integer(value);
  };
  set("batch", b);
  set("head", h);
  set("kv_head", h / (setup.heads / setup.kv_heads));
  set("q", setup.q_offset_of(b) + i);
  set("row", i);
  set("q_len", setup.q_len_of(b));
  set("kv_len", setup.kv_len_of(b));
  std::vector<int64_t> every(static_cast<size_t>(keys));
  std::iota(every.begin(), every.end(), 0);
  environment.variables["k"] = {false, {}, std::move(every)};
  environment.table = [&](const std::string& name, const std::vector<int64_t>& indices) {
    return table_entry(*variant.find_parameter(name), values.at(name).table, indices);
  };
  if (keys == 0) return {};
  const Expr mask =
      ExtentsAsNumbers(values).mutate(Halide::Internal::substitute_in_all_lets(variant.mask()));
  const Lanes<double> seen = evaluate(mask, environment);
  std::vector<char> result;
  for (int64_t k = 0; k < keys; ++k) {
    result.push_back(seen.integers[seen.integers.size() == 1 ? 0 : static_cast<size_t>(k)] != 0);
  }
  return result;
}

}  // namespace fovea::test
