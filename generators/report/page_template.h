// page_template.h: HTML kept in files of its own, cut into named blocks with places to fill.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_REPORT_PAGE_TEMPLATE_H
#define FOVEA_GENERATORS_REPORT_PAGE_TEMPLATE_H

#include <map>
#include <string>

namespace fovea::report {

// Text as HTML shows it, also within attributes.
std::string escaped(const std::string& text);

// A line `<!-- block: name -->` begins a block. {{key}} is a place for text, which is escaped,
// {{{key}}} one for HTML.
class PageTemplate {
 public:
  explicit PageTemplate(const std::string& text);

  // Throws std::logic_error for a block that is not there and for a place without a value.
  std::string fill(const std::string& block,
                   const std::map<std::string, std::string>& values) const;

 private:
  std::map<std::string, std::string> blocks_;
};

}  // namespace fovea::report

#endif
