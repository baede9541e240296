// explanation.h: reading the text of …_explain. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_EXPLANATION_H
#define FOVEA_TESTS_SUPPORT_EXPLANATION_H

#include <sstream>
#include <string>

namespace fovea::test {

// "refused, CPU lacks sse4a": the answer that the kernel stands under, "chosen" for the one that
// runs; empty if the text does not name it, or names it twice.
inline std::string answer_about(const std::string& text, const std::string& kernel) {
  std::istringstream lines(text);
  std::string heading;
  std::string answer;
  for (std::string line; std::getline(lines, line);) {
    const bool is_chosen = line.rfind("chosen: " + kernel + " (", 0) == 0;
    if (!line.empty() && line[0] != ' ') heading = line.substr(0, line.size() - 1);
    if (!is_chosen && line != "  " + kernel) continue;
    if (!answer.empty()) return "";
    answer = is_chosen ? "chosen" : heading;
  }
  return answer;
}

}  // namespace fovea::test

#endif
