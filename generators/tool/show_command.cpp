// show_command.cpp: `show`: a variant's declaration, a picture of its mask, what the tile analysis
// made of it. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "generators/emit/library_spec.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct ShowArguments {
  std::string variant;
  bool json = false;
  int length = 32;
  std::vector<std::string> settings;  // name=value
};

// Scalars: what --set says, else the smallest allowed value that shows something. Tables: every
// entry half the length.
Environment<double> picture_environment(const Variant& v, const ShowArguments& a) {
  std::map<std::string, double> given;
  for (const std::string& s : a.settings) {
    const size_t equals = s.find('=');
    const Parameter* p =
        equals == std::string::npos ? nullptr : v.find_parameter(s.substr(0, equals));
    if (!p || p->kind != Parameter::Kind::Scalar) {
      throw std::invalid_argument(
          fmt::format("--set '{}': allowed is NAME=VALUE with a scalar of '{}'", s, v.name()));
    }
    const std::string value = s.substr(equals + 1);
    size_t read = 0;
    try {
      given[p->name] = std::stod(value, &read);
    } catch (const std::logic_error&) {
    }
    if (read == 0 || read != value.size())
      throw std::invalid_argument(fmt::format("--set '{}': the value is not a number", s));
    const double x = given[p->name];
    if (!(x >= p->minimum && x <= p->maximum) || (p->exclusive_minimum && x == p->minimum)) {
      throw std::invalid_argument(fmt::format("--set '{}': allowed is {}{}, {}]", s,
                                              p->exclusive_minimum ? "(" : "[", p->minimum,
                                              p->maximum));
    }
  }
  Environment<double> env;
  env.lanes = static_cast<size_t>(a.length);
  for (const char* zero : {"batch", "head", "kv_head"})
    env.variables[zero] = Lanes<double>::integer(0);
  env.variables["q_len"] = env.variables["kv_len"] = Lanes<double>::integer(a.length);
  for (const auto& p : v.parameters()) {
    if (p->kind != Parameter::Kind::Scalar) continue;
    const double value = given.count(p->name)
                             ? given[p->name]
                             : std::min(p->maximum, std::max(p->minimum, a.length / 4.0));
    env.variables[p->name] = p->type.is_int() ? Lanes<double>::integer(static_cast<int64_t>(value))
                                              : Lanes<double>::real(value);
  }
  const double entry = a.length / 2;
  env.table = [entry](const std::string&, const std::vector<int64_t>&) { return entry; };
  return env;
}

// One character per (query, key): '#' visible, '.' hidden.
std::vector<std::string> mask_picture(const Variant& v, const ShowArguments& a) {
  Environment<double> env = picture_environment(v, a);
  Lanes<double> keys;
  for (int k = 0; k < a.length; ++k) keys.integers.push_back(k);
  env.variables["k"] = keys;
  std::vector<std::string> rows;
  for (int q = 0; q < a.length; ++q) {
    env.variables["q"] = Lanes<double>::integer(q);
    std::vector<int64_t> visible = evaluate(v.mask(), env).integers;
    visible.resize(static_cast<size_t>(a.length), visible[0]);
    std::string row;
    for (const int64_t x : visible) row += x ? '#' : '.';
    rows.push_back(row);
  }
  return rows;
}

std::string text_of(const Expr& e) {
  std::ostringstream out;
  out << e;
  return out.str();
}

void run_show(const ShowArguments& a) {
  const std::vector<Variant> variants = declared_variants();
  const Variant* v = nullptr;
  std::vector<std::string> names;
  for (const Variant& candidate : variants) {
    names.push_back(candidate.name());
    if (candidate.name() == a.variant) v = &candidate;
  }
  if (!v)
    throw std::invalid_argument(
        fmt::format("--variant '{}': allowed is {}", a.variant, fmt::join(names, ", ")));
  if (a.length < 1 || a.length > 256)
    throw std::invalid_argument(fmt::format("--length is {}: allowed is 1 to 256", a.length));

  const PrefillCpuSchedule s = default_prefill_schedule(*find_target("x86-avx2"), *v, 64, 64);
  const TileStatus status = tile_status(*v, s.block_rows(), s.key_block);
  const std::vector<std::string> picture = mask_picture(*v, a);
  if (a.json) {
    nlohmann::ordered_json root = {{"name", v->name()},
                                   {"summary", v->summary_text()},
                                   {"hash", hash_text(v->hash())},
                                   {"declaration", v->canonical_text()},
                                   {"mask", picture},
                                   {"tile_status",
                                    {{"block_rows", status.block_rows},
                                     {"key_block", status.key_block},
                                     {"live", text_of(status.live)},
                                     {"full", text_of(status.full)},
                                     {"live_key", text_of(status.live_key)},
                                     {"fallback", status.fallback}}}};
    fmt::print("{}\n", root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{}", v->canonical_text());
  if (!v->summary_text().empty()) fmt::print("summary {}\n", v->summary_text());
  fmt::print("hash {}\n\nmask, one row per query, one column per key\n", hash_text(v->hash()));
  for (const std::string& row : picture) fmt::print("  {}\n", row);
  fmt::print(
      "\nkey blocks of {} keys for {} query rows\n  run when    {}\n  whole when  {}\n  keys from  "
      " {}\n",
      status.key_block, status.block_rows, text_of(status.live), text_of(status.full),
      text_of(status.live_key));
  if (!status.fallback.empty()) fmt::print("  fallback    {}\n", status.fallback);
}

}  // namespace

void add_show_command(CLI::App& app) {
  auto a = std::make_shared<ShowArguments>();
  CLI::App* show =
      app.add_subcommand("show", "a variant: declaration, mask picture, which key blocks are run");
  show->footer("example: fovea show --variant causal_window --set window=8");
  show->add_option("--variant", a->variant, "its name")->required();
  show->add_option("--length", a->length, "rows and columns of the picture")->capture_default_str();
  show->add_option("--set", a->settings, "value of a scalar in the picture, NAME=VALUE");
  show->add_flag("--json", a->json, "as one JSON object");
  show->callback([a] { run_show(*a); });
}

}  // namespace fovea
