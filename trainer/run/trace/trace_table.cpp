// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/trace/trace_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/enum_table.h"
#include "base/error.h"
#include "trainer/step/stragglers.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kNames =
    enum_names<SpanKind>("phase", "operation", "wait", "collective", "control", "data", "load", "save");

SpanKind kind_of(const std::string& name) {
  const auto at = std::ranges::find(kNames, name, [](const auto& named) { return named.first; });
  require<InternalError>(at != kNames.end(), "no span is of the kind {}", name);
  return at->second;
}

// "gradient bucket 3" without its number.
std::string_view without_number(std::string_view what) {
  const size_t last = what.find_last_not_of("0123456789");
  return last != std::string_view::npos && last + 1 < what.size() && what[last] == ' ' ? what.substr(0, last) : what;
}

bool is_row(SpanKind kind) { return kind != SpanKind::Phase && kind != SpanKind::Collective; }

bool takes_queue(SpanKind kind, bool host_computes) {
  if (kind == SpanKind::Operation || kind == SpanKind::Wait) return true;
  return host_computes && (kind == SpanKind::Control || kind == SpanKind::Data);
}

}  // namespace

std::string_view name(SpanKind kind) { return kNames[static_cast<size_t>(kind)].first; }

std::vector<TraceRow> rows_of(std::span<const TraceSpan> spans, double seconds, bool host_computes) {
  std::map<std::pair<SpanKind, std::string_view>, TraceRow> rows;
  double covered = 0;
  for (const TraceSpan& span : spans) {
    if (!is_row(span.kind)) continue;
    const std::string_view what = without_number(span.what);
    TraceRow& row = rows[{span.kind, what}];
    row.kind = span.kind, row.what = what;
    row.calls += 1, row.seconds += span.end - span.begin, row.bytes += span.bytes, row.flops += span.flops;
    if (takes_queue(span.kind, host_computes)) covered += span.end - span.begin;
  }
  std::vector<TraceRow> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  all.push_back({.kind = SpanKind::Phase, .what = "other", .calls = 1, .seconds = std::max(0.0, seconds - covered)});
  return all;
}

Json to_json(std::span<const TraceRow> rows) {
  Json list = Json::array();
  for (const TraceRow& row : rows) {
    list.push_back({name(row.kind), row.what, row.calls, row.seconds, row.bytes, row.flops});
  }
  return list;
}

std::vector<TraceRow> rows_of_json(const Json& list) {
  std::vector<TraceRow> rows;
  for (const Json& row : list) {
    rows.push_back({kind_of(row[0].get<std::string>()), row[1].get<std::string>(), row[2].get<double>(),
                    row[3].get<double>(), row[4].get<double>(), row[5].get<double>()});
  }
  return rows;
}

Json joined_rows(std::span<const std::vector<TraceRow>> ranks, int64_t steps) {
  struct Joined {
    TraceRow most;  // of the rank with most calls
    std::vector<double> seconds;
  };
  std::map<std::pair<SpanKind, std::string>, Joined> all;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const TraceRow& row : ranks[rank]) {
      Joined& joined = all[{row.kind, row.what}];
      joined.seconds.resize(ranks.size());
      joined.seconds[rank] = row.seconds;
      if (row.calls > joined.most.calls) joined.most = row;
    }
  }
  std::vector<std::pair<Spread, TraceRow>> sorted;
  for (auto& [key, joined] : all) sorted.emplace_back(spread_of(joined.seconds), joined.most);
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& row) { return row.first.median; });
  const auto count = static_cast<double>(steps);
  Json list = Json::array();
  for (const auto& [spread, row] : sorted) {
    Json made = {{"kind", name(row.kind)},
                 {"what", row.what},
                 {"calls", row.calls / count},
                 {"ms", {1e3 * spread.min / count, 1e3 * spread.median / count, 1e3 * spread.max / count}}};
    if (row.seconds > 0 && row.flops > 0) made["flops"] = row.flops / row.seconds;
    if (row.seconds > 0 && row.bytes > 0) made["bytes_per_second"] = row.bytes / row.seconds;
    list.push_back(std::move(made));
  }
  return list;
}

}  // namespace weft
