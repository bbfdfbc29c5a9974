// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/trace.h"

namespace weft {

// The kind of a span as files name it: "operation", "wait".
std::string_view name(SpanKind kind);

// Where one rank's time went: a row for each kind and name of span but phases and collectives under way, which hold
// other spans or run beside them. Spans that differ in a number at their end, as buckets do, are one row. A last row
// "other" of kind Phase is the time of the queue that no span covers: on a CPU the program between operations, on a
// device the time in which it has nothing to do.
struct TraceRow {
  SpanKind kind = SpanKind::Phase;
  std::string what;
  double calls = 0, seconds = 0, bytes = 0, flops = 0;
};
// `seconds`: of the whole trace. `host_computes`: the queue is the host's thread, which does nothing else while it
// waits for data or other hosts.
std::vector<TraceRow> rows_of(std::span<const TraceSpan> spans, double seconds, bool host_computes);

nlohmann::ordered_json to_json(std::span<const TraceRow> rows);
std::vector<TraceRow> rows_of_json(const nlohmann::ordered_json& rows);

// The event `trace`'s rows, the longest first: calls a step of the rank that has most of them, milliseconds a step as
// [min, median, max] over the ranks, and FLOP/s and bytes a second where they were counted.
nlohmann::ordered_json joined_rows(std::span<const std::vector<TraceRow>> ranks, int64_t steps);

}  // namespace weft
