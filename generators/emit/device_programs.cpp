// device_programs.cpp: programs are buffers of the module, by a name that Halide gives them.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/device_programs.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fovea {
namespace {

namespace ir = Halide::Internal;

constexpr const char* program_suffix = "_gpu_source_kernels";

bool is_program(const Halide::Buffer<>& buffer) {
  return ir::ends_with(buffer.name(), program_suffix);
}

class RenamePrograms : public ir::IRMutator {
 public:
  explicit RenamePrograms(std::map<std::string, std::string> names) : names_(std::move(names)) {}

 private:
  using ir::IRMutator::visit;
  Halide::Expr visit(const ir::Variable* op) override {
    const auto it = names_.find(op->name);
    return it != names_.end() ? ir::Variable::make(op->type, it->second) : Halide::Expr(op);
  }

  std::map<std::string, std::string> names_;
};

}  // namespace

Halide::Module with_programs_named(const Halide::Module& module, const std::string& prefix) {
  Halide::Module renamed(module.name(), module.target());
  std::map<std::string, std::string> names;
  for (const Halide::Buffer<>& buffer : module.buffers()) {
    if (!is_program(buffer)) {
      renamed.append(buffer);
      continue;
    }
    const std::string name = prefix + "_" + buffer.name();
    names[buffer.name() + ".buffer"] = name + ".buffer";
    Halide::Buffer<uint8_t> copy(buffer.dim(0).extent(), name);
    std::copy_n(static_cast<const uint8_t*>(buffer.data()), copy.number_of_elements(), copy.data());
    renamed.append(Halide::Buffer<void>(copy));
  }
  RenamePrograms rename(names);
  for (ir::LoweredFunc function : module.functions()) {
    function.body = rename.mutate(function.body);
    renamed.append(function);
  }
  renamed.set_any_strict_float(module.any_strict_float());
  return renamed;
}

std::string program_text(const Halide::Module& module) {
  std::string text;
  for (const Halide::Buffer<>& buffer : module.buffers()) {
    if (!is_program(buffer)) continue;
    const char* begin = static_cast<const char*>(buffer.data());
    // It ends with a zero.
    text.append(begin, std::find(begin, begin + buffer.number_of_elements(), '\0'));
  }
  return text;
}

}  // namespace fovea
