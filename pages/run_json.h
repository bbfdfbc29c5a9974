// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pages/history.h"

namespace weft {

// What a page's scripts get of a run (series.js and tables.js read it). Series are cut into at most `bins` bins,
// texts are page_text(), and lists are bounded.
nlohmann::ordered_json run_json(const RunHistory& history, const std::string& name, size_t bins);

// The keys in which the runs' jobs differ: {"key": ..., "values": [of each run]}. No rows for a single run.
nlohmann::ordered_json job_differences(const std::vector<RunHistory>& runs);

}  // namespace weft
