// catalogue_command.cpp: `catalogue`: the page of all declared variants.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "generators/describe/catalogue_page.h"
#include "generators/emit/files.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct CatalogueArguments {
  std::string out, more;
  bool json = false;
};

void run_catalogue(const CatalogueArguments& a) {
  const std::string more = a.more.empty() ? "" : read_file(a.more);
  const std::filesystem::path out = a.out;
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const auto& [name, text] : catalogue_page(declared_variants(), more)) {
    std::filesystem::create_directories((out / name).parent_path());
    write_if_changed(out / name, text);
    files.push_back((out / name).string());
  }
  if (a.json) fmt::print("{}\n", nlohmann::ordered_json{{"files", files}}.dump(2));
}

}  // namespace

void add_catalogue_command(CLI::App& app) {
  auto a = std::make_shared<CatalogueArguments>();
  CLI::App* catalogue = app.add_subcommand(
      "catalogue", "write a page of all variants (Markdown) with a picture of each mask (SVG)");
  catalogue->footer("example: fovea catalogue --out docs");
  catalogue->add_option("--out", a->out, "folder to write variants.md and pictures/ into")
      ->required();
  catalogue->add_option("--more", a->more, "Markdown file that the page ends with");
  catalogue->add_flag("--json", a->json, "print the names of the files as one JSON object");
  catalogue->callback([a] { run_catalogue(*a); });
}

}  // namespace fovea
