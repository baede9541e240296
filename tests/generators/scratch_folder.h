// scratch_folder.h: a folder of its own for a test, gone when the test ends.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_GENERATORS_SCRATCH_FOLDER_H
#define FOVEA_TESTS_GENERATORS_SCRATCH_FOLDER_H

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace fovea {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fovea_test_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a folder like " + name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fovea

#endif
