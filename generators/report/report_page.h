// report_page.h: the page of a report.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_REPORT_REPORT_PAGE_H
#define FOVEA_GENERATORS_REPORT_REPORT_PAGE_H

#include <string>
#include <vector>

#include "generators/report/page_template.h"
#include "generators/report/report_data.h"

namespace fovea::report {

// A mask and the tiles that a kernel makes of it, drawn already.
struct MaskPicture {
  std::string name, shape, counts;
  std::string mask_svg, tiles_svg;
};

// Whole, with everything it needs inside.
std::string report_page(const ReportData& data, const std::vector<MaskPicture>& masks,
                        const std::string& title, const std::string& command);

// The parts of it; empty where the data has nothing for one.
std::string summary_section(const PageTemplate& page, const ReportData& data);
std::string roofline_section(const PageTemplate& page, const ReportData& data);
std::string scaling_section(const PageTemplate& page, const ReportData& data);
std::string peers_section(const PageTemplate& page, const ReportData& data);
std::string schedules_section(const PageTemplate& page, const ReportData& data);
std::string tuning_section(const PageTemplate& page, const ReportData& data);
std::string kernels_section(const PageTemplate& page, const ReportData& data);
std::string repeat_section(const PageTemplate& page, const ReportData& data);

// Rows that can be compared, in the order in which cases first appear.
using Cases = std::vector<std::pair<std::string, std::vector<const BenchRow*>>>;
Cases cases_of(const ReportData& data);

// The fastest measured peer of a case that is no plain loop; nullptr: none.
const BenchRow* best_peer(const std::vector<const BenchRow*>& rows);

// "182.2 GFLOP/s", or GB/s of decode.
double rate_of(const BenchRow& row);
std::string rate_text(const BenchRow& row);
const char* rate_unit(const BenchRow& row);
// Half of the spread of the rate, from that of the times.
double rate_spread(const BenchRow& row);

}  // namespace fovea::report

#endif
