// catalogue_page.cpp: the catalogue in Markdown.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/catalogue_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "generators/describe/description.h"
#include "generators/describe/mask_picture.h"
#include "generators/describe/variant_text.h"

namespace fovea {
namespace {

constexpr int64_t picture_cells = 64;
constexpr size_t most_in_a_cell = 600;  // characters of a line of a formula; `show` has all

// Inside a cell of a table a bar would end it.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\\|");
  return text;
}

std::string code(const std::string& text) { return "`" + cell(text) + "`"; }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& p : parts) text += (text.empty() ? "" : "<br>") + p;
  return text;
}

std::string formula_cell(const Variant& v) {
  std::vector<std::string> lines;
  for (const std::string& line : formula_lines(v)) {
    lines.push_back(line.size() <= most_in_a_cell
                        ? code(line)
                        : code(line.substr(0, line.rfind(' ', most_in_a_cell))) + " …");
  }
  return lines.empty() ? "plain attention" : joined(lines);
}

std::string parameters_cell(const Variant& v) {
  std::vector<std::string> lines;
  for (const auto& p : v.parameters()) {
    const std::string what = p->description.empty() ? "" : ": " + cell(p->description);
    lines.push_back(code(p->name + " " + parameter_text(*p)) + what);
  }
  return joined(lines);
}

std::string about_cell(const Variant& v) {
  std::vector<std::string> lines = {fmt::format("**{}**", v.name()), cell(v.summary_text())};
  if (!v.source_text().empty()) lines.push_back("*" + cell(v.source_text()) + "*");
  for (const std::string& note : v.notes()) lines.push_back("Note: " + cell(note));
  return joined(lines);
}

std::string picture_path(const Variant& v) { return fmt::format("pictures/{}.svg", v.name()); }

std::string heading_of(std::string family) {
  family[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(family[0])));
  return family;
}

std::string anchor(const std::string& heading) {
  std::string text;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '_' || c == '-') {
      text += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      text += '-';
    } else if (byte >= 0x80) {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::vector<const Variant*>>> by_family(
    const std::vector<Variant>& variants) {
  std::map<std::string, std::vector<const Variant*>> families;
  std::vector<const Variant*> rest;
  for (const Variant& v : variants)
    (v.family_text().empty() ? rest : families[v.family_text()]).push_back(&v);
  std::vector<std::pair<std::string, std::vector<const Variant*>>> list(families.begin(),
                                                                        families.end());
  if (!rest.empty()) list.emplace_back(no_family, std::move(rest));
  return list;
}

std::map<std::string, std::string> catalogue_page(const std::vector<Variant>& variants,
                                                  const std::string& more) {
  std::map<std::string, std::string> files;
  const auto families = by_family(variants);
  std::string page = fmt::format(
      "<!-- Made from the declarations by `fovea catalogue`; do not edit. -->\n# Variants\n\n"
      "{} variants, each a few lines of `dsl/variants/`. The formula says what a variant does\n"
      "besides plain attention, softmax(scale · q kᵀ) v, in the order in which it is done; the\n"
      "picture shows which keys (to the right) a query (downwards) sees, for a short sequence and\n"
      "small parameters, paler where a bias makes them count less. `fovea show NAME` says more\n"
      "about one of them.\n\n",
      variants.size());
  for (const auto& [family, members] : families) {
    std::string names;
    for (const Variant* v : members)
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", v->name());
    page += fmt::format("- [{}](#{}): {}\n", heading_of(family), anchor(family), names);
  }
  for (const auto& [family, members] : families) {
    page += fmt::format("\n## {}\n\n| variant | formula | parameters | mask |\n|---|---|---|---|\n",
                        heading_of(family));
    for (const Variant* v : members) {
      std::string picture = "every key";
      const MaskGrid grid = example_mask_grid(*v, picture_setting(*v), picture_cells);
      const bool all_the_same =
          grid.bias.empty() && std::all_of(grid.cells.begin(), grid.cells.end(),
                                           [](Cell c) { return c == Cell::Visible; });
      if (!all_the_same) {
        picture = fmt::format("<img src=\"{}\" width=\"150\" alt=\"mask of {}\">", picture_path(*v),
                              v->name());
        files[picture_path(*v)] = mask_svg(grid, fmt::format("{}: which of {} keys {} queries see",
                                                             v->name(), grid.kv_len, grid.q_len));
      }
      page += fmt::format("| {} | {} | {} | {} |\n", about_cell(*v), formula_cell(*v),
                          parameters_cell(*v), picture);
    }
  }
  if (!more.empty()) page += "\n" + more;
  files["variants.md"] = page;
  return files;
}

}  // namespace fovea
