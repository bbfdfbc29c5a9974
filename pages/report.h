// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/files.h"
#include "pages/assets.h"

namespace weft {

// Curves are drawn in the browser by dygraphs; pictures are SVG, and stand still.
enum class Drawing { Curves, Pictures };

struct ReportOptions {
  int threads = 1;
  Drawing drawing = has_dygraphs() ? Drawing::Curves : Drawing::Pictures;
};

inline constexpr size_t kMostRuns = 32;

// A page about one run, or that compares several: `runs` are their directories. DataError for one that has no log.
std::string report_page(const std::vector<fs::path>& runs, const ReportOptions& options = {});

}  // namespace weft
