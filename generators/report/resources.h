// resources.h: the files of the report's page, as they were when the program was built.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_REPORT_RESOURCES_H
#define FOVEA_GENERATORS_REPORT_RESOURCES_H

namespace fovea::report {

extern const char* const page_html;
extern const char* const page_css;

}  // namespace fovea::report

#endif
