// choice.h: which kernel the runtime would take, and why not the others.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EXPLAIN_CHOICE_H
#define FOVEA_GENERATORS_EXPLAIN_CHOICE_H

#include <fovea/dsl/parameter.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "generators/emit/kernel_spec.h"
#include "generators/emit/library_spec.h"
#include "runtime/src/selection.h"

namespace fovea {

// A kernel that a library holds, or would hold.
struct Candidate {
  KernelSpec spec;
  std::string schedule;
  std::string schedule_from = "default";  // or the entry of a tuning file
};

std::vector<Candidate> candidates_of(const LibraryPlan& plan);
// Of a manifest that emit wrote, those of the variant. Throws std::invalid_argument for text that
// is none, and for a variant that it does not hold.
std::vector<Candidate> candidates_of(const nlohmann::json& manifest, const std::string& variant);

struct Question {
  std::string dtype;
  ExampleShape shape;
  std::string pass;    // forced; empty: by the shape
  std::string target;  // forced; empty: the best
  std::string cache = "none";
};

struct Choice {
  const Candidate* chosen = nullptr;
  std::string why_target, why_pass;
  std::string why_schedule;  // empty: it is for calls of every shape
  std::string refusal;       // why none was chosen
  // Each answer with the candidates that get it; those of the chosen one's kind come first.
  std::vector<std::pair<std::string, std::vector<const Candidate*>>> others;
};

// The selection is the runtime's own function. Targets that the runtime does not know are left out.
Choice choose(const std::vector<Candidate>& candidates, const Question& question,
              detail::Capabilities capabilities);

}  // namespace fovea

#endif
