// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pages/plots.h"

namespace weft {

// A plot of these runs (run_json) over steps, as an SVG whose texts are numbers alone; page.css has its colours. Runs,
// or the curves of a single run, are the classes c0, c1, ....
std::string picture(const Plot& plot, const std::vector<nlohmann::ordered_json>& runs);

// Round numbers from `low` to `high`, at most `most` of them.
std::vector<double> round_ticks(double low, double high, int most);

}  // namespace weft
