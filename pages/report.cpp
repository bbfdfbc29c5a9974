// SPDX-License-Identifier: Apache-2.0
#include "pages/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "pages/history.h"
#include "pages/page.h"
#include "pages/picture.h"
#include "pages/plots.h"
#include "pages/run_json.h"
#include "pages/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// A page has so many bins of each series, of all its runs together, and no run has more than kMostBins.
constexpr size_t kBinsOfPage = 5000, kMostBins = 2000, kFewestBins = 150;

size_t bins_of(size_t runs) { return std::clamp(kBinsOfPage / runs, kFewestBins, kMostBins); }

std::string last_name(const fs::path& directory) {
  const fs::path normal = (fs::absolute(directory) / "").lexically_normal();
  return normal.parent_path().filename().string();
}

// The directories' own names; whole paths where two have the same.
std::vector<std::string> names_of(const std::vector<fs::path>& runs) {
  std::vector<std::string> names;
  for (const fs::path& run : runs) names.push_back(last_name(run));
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) == sorted.end()) return names;
  names.clear();
  for (const fs::path& run : runs) names.push_back(run.string());
  return names;
}

}  // namespace

std::string report_page(const std::vector<fs::path>& runs, const ReportOptions& options) {
  require<ConfigError>(!runs.empty() && runs.size() <= kMostRuns, "{} runs; a report shows 1 to {}", runs.size(),
                       kMostRuns);
  const std::vector<std::string> names = names_of(runs);
  std::vector<RunHistory> histories;
  std::vector<Json> made;
  for (size_t k = 0; k < runs.size(); ++k) {
    histories.emplace_back(runs[k], options.threads);
    made.push_back(run_json(histories.back(), names[k], bins_of(runs.size())));
  }
  const std::vector<Plot> plots = plots_of(made);
  std::string body;
  if (options.drawing == Drawing::Pictures) {
    body += "<div id=\"pictures\" hidden>\n";
    for (const Plot& plot : plots) body += picture(plot, made);
    body += "</div>\n";
  }
  body += json_block("report", {{"runs", runs.size()},
                                {"drawing", options.drawing == Drawing::Curves ? "curves" : "pictures"},
                                {"plots", plots_json(plots)},
                                {"differences", job_differences(histories)}});
  for (size_t k = 0; k < made.size(); ++k) body += json_block(fmt::format("run-{}", k), made[k]);
  return page_html(PageKind::Report, body);
}

}  // namespace weft
