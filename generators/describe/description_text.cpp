// description_text.cpp: a description for the terminal and as JSON.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sstream>

#include "generators/describe/call_shape.h"
#include "generators/describe/description.h"
#include "generators/describe/expression_text.h"
#include "generators/describe/layout.h"
#include "generators/describe/variant_text.h"
#include "generators/emit/library_spec.h"

namespace fovea {
namespace {

using Json = nlohmann::ordered_json;

std::string head(const Variant& v) {
  std::string text = v.name() + "\n";
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += wrapped(fmt::format("  {}", what), 10, value);
  };
  if (!v.summary_text().empty()) text += wrapped("", 2, v.summary_text());
  line("family", v.family_text());
  line("source", v.source_text());
  for (const std::string& note : v.notes()) line("note", note);
  line("hash", hash_text(v.hash()));
  return text;
}

std::string parameters(const Description& d) {
  if (d.parameters.empty()) return "";
  std::string text = "\nparameters\n";
  size_t name_width = 0, kind_width = 0;
  for (const DescribedParameter& p : d.parameters) {
    name_width = std::max(name_width, p.declaration->name.size());
    kind_width = std::max(kind_width, parameter_text(*p.declaration).size());
  }
  for (const DescribedParameter& p : d.parameters) {
    const std::string& what = p.declaration->description;
    text += wrapped(fmt::format("  {:<{}}  {}", p.declaration->name, name_width,
                                parameter_text(*p.declaration)),
                    name_width + kind_width + 6,
                    fmt::format("{}{}here {}", what, what.empty() ? "" : "; ", p.example));
  }
  return text;
}

std::string steps(const Variant& v) {
  std::string text = "\nsteps\n";
  int number = 0;
  for (const Step& s : variant_steps(v))
    text += wrapped_formula(fmt::format(" {:>2} {}", ++number, s.part), 13, s.text);
  return text;
}

std::string picture(const Description& d) {
  const MaskGrid& g = d.grid;
  if (!d.has_mask) return "\nmask: none, every query sees every key\n";
  std::string cell;
  if (g.q_step > 1)
    cell = fmt::format(", {0} x {0} pairs a cell{1}", g.q_step, g.sampled ? ", by samples" : "");
  std::string values;
  for (const auto& [name, value] : d.picture.scalars)
    values += fmt::format(", {} = {}", name, value);
  std::string text = wrapped("\nmask of ", 9,
                             fmt::format("{} queries (down, two rows a line) and {} keys{}{}",
                                         g.q_len, g.kv_len, cell, values));
  for (const std::string& line : block_rows(g)) text += "  " + line + "\n";
  return text;
}

// "12.5 %"; a part that is not nothing never looks like it.
std::string share(int64_t part, int64_t whole) {
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent > 0 && percent < 0.05 ? "< 0.1 %" : fmt::format("{:.1f} %", percent);
}

// Bounds of table entries as what they are of.
std::string condition_text(const TileStatus& status, const Expr& condition) {
  namespace ir = Halide::Internal;
  std::map<std::string, Expr> names;
  for (const TileStatus::Bound& b : status.bounds) {
    const auto extreme = [&](const char* which) {
      return ir::Call::make(Halide::Int(32), which, {b.entry}, ir::Call::PureExtern);
    };
    names[b.low] = extreme("least");
    names[b.high] = extreme("largest");
  }
  return expression_text(ir::substitute(names, condition));
}

std::string tiles(const Description& d) {
  const TileCounts& c = d.counts;
  std::string text = fmt::format("\ntiles of {} queries by {} keys on {}: {} in {}\n", c.block_rows,
                                 c.key_block, d.target->name, c.tiles, call_shape_text(d.shape));
  const auto row = [&](const char* what, int64_t n, int64_t best, const char* meaning) {
    text +=
        fmt::format("  {:<8} {:>9} {:>8}   {}{}\n", what, n, share(n, c.tiles), meaning,
                    c.has_best && best != n ? fmt::format("; by the mask itself {}", best) : "");
  };
  row("full", c.full, c.best_full, "every pair is visible, no mask code is run");
  row("partial", c.partial, c.best_partial, "the mask is evaluated");
  row("skipped", c.skipped, c.best_skipped, "no pair is visible, nothing is run");
  if (!c.unknown.empty())
    text += wrapped("  not counted:", 15, c.unknown + "; all taken for partial");
  text += wrapped_formula("  run when", 14, condition_text(d.status, d.status.live));
  text += wrapped_formula("  full when", 14, condition_text(d.status, d.status.full));
  if (!d.status.bounds.empty()) text += "              (least and largest of the tile)\n";
  if (!d.status.fallback.empty()) text += wrapped("  fallback", 14, d.status.fallback);
  return text;
}

std::string exact_text(const Expr& e) {
  std::ostringstream out;
  out << e;
  return out.str();
}

}  // namespace

std::string description_text(const Description& d) {
  return head(*d.variant) + parameters(d) + steps(*d.variant) + picture(d) + tiles(d);
}

Json parameter_json(const Parameter& p) {
  Json json = {{"name", p.name},
               {"kind", p.kind == Parameter::Kind::Scalar ? "scalar" : "table"},
               {"type", type_text(p)}};
  if (p.kind == Parameter::Kind::Scalar) {
    json["range"] = range_text(p);
  } else {
    json["axes"] = axes_text(p);
  }
  json["description"] = p.description;
  return json;
}

Json description_json(const Description& d) {
  const Variant& v = *d.variant;
  const TileCounts& c = d.counts;
  Json json = {{"name", v.name()},
               {"summary", v.summary_text()},
               {"source", v.source_text()},
               {"family", v.family_text()},
               {"notes", v.notes()},
               {"hash", hash_text(v.hash())},
               {"declaration", v.canonical_text()}};
  json["formula"] = formula_lines(v);
  json["steps"] = Json::array();
  for (const Step& s : variant_steps(v))
    json["steps"].push_back({{"part", s.part}, {"text", s.text}});
  json["parameters"] = Json::array();
  for (const DescribedParameter& p : d.parameters) {
    Json row = parameter_json(*p.declaration);
    row["example"] = p.example;
    json["parameters"].push_back(row);
  }
  json["outputs"] = Json::array();
  for (const auto& [output, name] : {std::pair{Output::Lse, "lse"},
                                     {Output::RowMax, "row_max"},
                                     {Output::RowSum, "row_sum"},
                                     {Output::Probabilities, "probabilities"}}) {
    if (v.returns(output)) json["outputs"].push_back(name);
  }
  json["mask_shape"] = call_shape_text(d.picture.shape);
  json["mask"] = plain_rows(d.grid);
  json["shape"] = call_shape_text(d.shape);
  json["target"] = d.target->name;
  json["tile_status"] = {{"block_rows", d.status.block_rows},
                         {"key_block", d.status.key_block},
                         {"live", exact_text(d.status.live)},
                         {"full", exact_text(d.status.full)},
                         {"live_key", exact_text(d.status.live_key)},
                         {"full_key", exact_text(d.status.full_key)},
                         {"fallback", d.status.fallback},
                         {"tiles", c.tiles},
                         {"full_tiles", c.full},
                         {"partial_tiles", c.partial},
                         {"skipped_tiles", c.skipped},
                         {"unknown", c.unknown}};
  if (c.has_best) {
    json["tile_status"]["best"] = {{"full_tiles", c.best_full},
                                   {"partial_tiles", c.best_partial},
                                   {"skipped_tiles", c.best_skipped}};
  }
  return json;
}

}  // namespace fovea
