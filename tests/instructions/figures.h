// figures.h: committed figures of kernels, and how new ones compare with them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_INSTRUCTIONS_FIGURES_H
#define FOVEA_TESTS_INSTRUCTIONS_FIGURES_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace fovea::test {

// (kernel, figure) → value; a line "kernel,figure,value" each.
using Figures = std::map<std::pair<std::string, std::string>, int64_t>;

// Throws std::runtime_error for a line that is none.
Figures parse_figures(const std::string& text);
std::string figures_text(const Figures& figures);

// What is wrong with a measured figure, naming everything; empty: nothing.
std::string complaint(const Figures& committed, const std::string& kernel,
                      const std::string& figure, int64_t measured);

// Expects what was measured to be what the file says; with FOVEA_UPDATE_GOLDEN=1 writes it instead
// and skips the test. `of_others`: a line of the file that may stay there without being measured,
// by kernel and figure.
void expect_committed(const Figures& measured, const std::string& file,
                      const std::function<bool(const std::string&, const std::string&)>& of_others);

}  // namespace fovea::test

#endif
