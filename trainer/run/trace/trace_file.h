// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/trace.h"

namespace weft {

// Events in Chrome's Trace Event Format (Google, 2016), which https://ui.perfetto.dev and chrome://tracing read. A rank
// is a process; its queue, what its host waits for, and its saves are threads of it. Collectives under way are
// asynchronous events, since several of them may be.
struct TracedRank {
  int rank = 0;
  std::string name;  // "rank 3 on node-1"
  double begin = 0;  // when its trace started, in seconds since the file's zero
};
// The events of one rank, joined by ",\n"; never empty.
std::string trace_events(const TracedRank& rank, std::span<const TraceSpan> spans);

// The whole file. `about` is what it says of itself: otherData.
std::string trace_file(std::span<const std::string> events, const nlohmann::ordered_json& about);

}  // namespace weft
