// report_page.cpp: the parts in their order.
// SPDX-License-Identifier: Apache-2.0
#include "generators/report/report_page.h"

#include "generators/report/resources.h"

namespace fovea::report {
namespace {

std::string masks_section(const PageTemplate& page, const std::vector<MaskPicture>& masks) {
  if (masks.empty()) return "";
  std::string figures;
  for (const MaskPicture& m : masks) {
    figures += page.fill("mask", {{"title", m.name},
                                  {"caption", m.shape},
                                  {"picture", m.mask_svg},
                                  {"tiles", m.tiles_svg},
                                  {"counts", m.counts}});
  }
  return page.fill(
      "section",
      {{"id", "masks"},
       {"title", "Masks and tiles"},
       {"lead",
        "Left: which keys (across) each query (down) sees. Right: the tiles that a kernel "
        "makes of it: filled ones run without mask code, hatched ones with it, pale ones "
        "do not run."},
       {"body", page.fill("masks", {{"figures", figures}})}});
}

// The title of a section is what stands in its first heading.
std::string title_of(const std::string& section) {
  const size_t begin = section.find("<h2>") + 4;
  return section.substr(begin, section.find("</h2>") - begin);
}
std::string id_of(const std::string& section) {
  const size_t begin = section.find("id=\"") + 4;
  return section.substr(begin, section.find('"', begin) - begin);
}

}  // namespace

std::string report_page(const ReportData& data, const std::vector<MaskPicture>& masks,
                        const std::string& title, const std::string& command) {
  const PageTemplate page(page_html);
  std::string contents, sections, machines;
  for (const std::string& section :
       {data.rows.empty() ? "" : summary_section(page, data), roofline_section(page, data),
        scaling_section(page, data), peers_section(page, data), schedules_section(page, data),
        tuning_section(page, data), masks_section(page, masks), kernels_section(page, data),
        repeat_section(page, data)}) {
    if (section.empty()) continue;
    contents += page.fill("link", {{"id", id_of(section)}, {"title", title_of(section)}});
    sections += section;
  }
  for (const std::string& m : data.machines) machines += page.fill("machine", {{"text", m}});
  return page.fill("page", {{"title", title},
                            {"style", page_css},
                            {"machines", machines},
                            {"contents", contents},
                            {"sections", sections},
                            {"command", command}});
}

}  // namespace fovea::report
