// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft {

// A curve of each run in a plot.
struct Curve {
  std::string event;  // "train" or "eval"
  std::string value;  // the member of its "values" in run_json()
  std::string label;
};

struct Plot {
  std::string id, section, title;
  std::string unit;  // number, share, milliseconds, bytes, tokens/s, FLOP/s
  std::vector<Curve> curves;
};

// The plots for which these runs (run_json) have values, in the order of the page.
std::vector<Plot> plots_of(const std::vector<nlohmann::ordered_json>& runs);

nlohmann::ordered_json plots_json(const std::vector<Plot>& plots);

}  // namespace weft
