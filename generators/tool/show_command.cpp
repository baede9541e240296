// show_command.cpp: `show`: what a variant computes, its parameters, its mask, the tiles it runs.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "generators/describe/call_shape.h"
#include "generators/describe/description.h"
#include "generators/describe/layout.h"
#include "generators/describe/mask_picture.h"
#include "generators/emit/files.h"
#include "generators/tool/commands.h"
#include "generators/tool/declared_variant.h"

namespace fovea {
namespace {

struct ShowArguments {
  std::string variant, shape, target = "x86-avx2", picture;
  bool json = false;
  std::vector<std::string> settings;  // name=value
};

constexpr int64_t cells_on_a_terminal = 64, cells_of_a_picture = 256;

const TargetRow& find_row(const std::string& name) {
  if (const TargetRow* row = find_target(name)) return *row;
  std::vector<std::string> names;
  for (const TargetRow& row : target_table()) names.emplace_back(row.name);
  throw std::invalid_argument(fmt::format("--target '{}': allowed is {}{}", name,
                                          fmt::join(names, ", "), suggestion(name, names)));
}

ScalarValues parse_settings(const Variant& v, const std::vector<std::string>& settings) {
  ScalarValues values;
  for (const std::string& s : settings) {
    const size_t equals = s.find('=');
    const Parameter* p =
        equals == std::string::npos ? nullptr : v.find_parameter(s.substr(0, equals));
    if (!p || p->kind != Parameter::Kind::Scalar) {
      throw std::invalid_argument(
          fmt::format("--set '{}': allowed is NAME=VALUE with a scalar of '{}'", s, v.name()));
    }
    const std::string value = s.substr(equals + 1);
    size_t read = 0;
    double x = 0;
    try {
      x = std::stod(value, &read);
    } catch (const std::logic_error&) {
    }
    if (read == 0 || read != value.size())
      throw std::invalid_argument(fmt::format("--set '{}': the value is not a number", s));
    const bool whole = p->type.is_float() || x == std::trunc(x);
    if (!(x >= p->minimum && x <= p->maximum) || (p->exclusive_minimum && x == p->minimum) ||
        !whole) {
      throw std::invalid_argument(fmt::format("--set '{}': allowed is {} in {}{}, {}]", s,
                                              p->type.is_float() ? "a number" : "an integer",
                                              p->exclusive_minimum ? "(" : "[", p->minimum,
                                              p->maximum));
    }
    values[p->name] = x;
  }
  return values;
}

void write_picture(const std::filesystem::path& file, const Variant& v, const MaskGrid& grid) {
  if (file.extension() == ".svg") {
    write_if_changed(file, mask_svg(grid, fmt::format("{}: which of {} keys {} queries see",
                                                      v.name(), grid.kv_len, grid.q_len)));
  } else if (file.extension() == ".png") {
    write_mask_png(grid, file);
  } else {
    throw std::invalid_argument(
        fmt::format("--picture '{}': allowed is a name that ends in .svg or .png", file.string()));
  }
}

void run_show(const ShowArguments& a) {
  const std::vector<Variant> variants = declared_variants();
  const Variant& v = declared_variant(variants, a.variant);
  const TargetRow& target = find_row(a.target);
  const ExampleShape shape = parse_call_shape(a.shape, default_call_shape);
  const ScalarValues scalars = parse_settings(v, a.settings);
  // One shape for both if it is given; else a picture that fits, and a call of a usual size.
  PictureSetting picture = a.shape.empty() ? picture_setting(v) : PictureSetting{shape, {}};
  for (const auto& [name, value] : scalars) picture.scalars[name] = value;
  if (!a.picture.empty())
    write_picture(a.picture, v, example_mask_grid(v, picture, cells_of_a_picture));
  const Description d = describe(v, target, picture, shape, scalars, cells_on_a_terminal);
  if (a.json) {
    fmt::print("{}\n", description_json(d).dump(2, ' ', false,
                                                nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", description_text(d));
  }
}

}  // namespace

void add_show_command(CLI::App& app) {
  auto a = std::make_shared<ShowArguments>();
  CLI::App* show = app.add_subcommand(
      "show", "a variant: formula, parameters, mask picture, which tiles are run");
  show->footer(
      "example: fovea show causal_window --set window=8\n"
      "         fovea show causal --shape sq=4096,skv=4096 --picture causal.svg");
  show->add_option("name,--variant", a->variant, "its name")->required();
  show->add_option("--shape", a->shape,
                   "of the call, as b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64; default: this, and a "
                   "picture of a shorter one");
  show->add_option("--target", a->target, "whose tiles are counted")->capture_default_str();
  show->add_option("--set", a->settings, "value of a scalar instead of its example, NAME=VALUE");
  show->add_option("--picture", a->picture, "also write the mask to this file, .svg or .png");
  show->add_flag("--json", a->json, "as one JSON object");
  show->callback([a] { run_show(*a); });
}

}  // namespace fovea
