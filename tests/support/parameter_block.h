// parameter_block.h: the params structure of any variant, laid out from the registry.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_PARAMETER_BLOCK_H
#define FOVEA_TESTS_SUPPORT_PARAMETER_BLOCK_H

#include <fovea/registry.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "setup.h"

namespace fovea::test {

class ParameterBlock {
 public:
  // Numbers within the declared ranges; tables of the demanded extents (or a little more where that
  // is allowed) in guarded memory, with strides of every kind.
  ParameterBlock(const TestKernel& kernel, const CallSetup& setup, Random& random);

  const void* data() const { return bytes_.data(); }
  void set(const std::string& name, double value);
  // Integer scalars become the least or the largest number that is allowed.
  void set_scalars_to_an_end(Random& random);
  // Replaces a table; the last axis is dense.
  void set_table(const std::string& name, const std::vector<int64_t>& extent,
                 const std::vector<double>& entries);
  std::string text() const;  // the scalars

 private:
  const fovea_parameter_info& find_(const std::string& name) const;
  void write_scalar_(const fovea_parameter_info& info, double value);
  void draw_scalar_(const fovea_parameter_info& info, const CallSetup& setup, Random& random);
  void draw_table_(const fovea_parameter_info& info, const CallSetup& setup, Random& random);

  TestKernel kernel_;
  const fovea_variant_info* variant_;
  std::vector<unsigned char> bytes_;
  std::map<std::string, std::shared_ptr<GuardedMemory>> tables_;
};

}  // namespace fovea::test

#endif
