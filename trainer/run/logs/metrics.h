// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "trainer/run/logs/append_log.h"

namespace weft {

// DIR/metrics.jsonl: one JSON object per line, in an AppendLog. Every line carries run, attempt, event (train, eval,
// save, ...), step and the wall time.
class MetricsLog {
 public:
  // Opens the log of a run directory and cuts off a partial last line that an earlier attempt has left.
  MetricsLog(const fs::path& directory, std::string run, int64_t attempt);
  void write(const char* event, int64_t step, const nlohmann::ordered_json& fields);
  void finish() { log_.finish(); }
  // Calls `work` on the log's thread once the lines so far are written. It must be quick, and not throw.
  void then(std::function<void()> work) { log_.then(std::move(work)); }

 private:
  std::string run_;
  int64_t attempt_;
  AppendLog log_;
};

// One more than the highest attempt in the log; 0 if there is no log.
int64_t next_attempt(const fs::path& directory);

// A number that lines may have: a member, or the element `place` of one that is a list, from 1.
struct MetricsField {
  std::string name;
  size_t place = 0;
};

// A whole line of the log.
struct MetricsLine {
  std::string event;
  int64_t step = 0, attempt = 0;
  double time = 0;              // seconds since 1970; NaN if the line does not say
  std::vector<double> numbers;  // of each field that is asked for: NaN if the line has no such number
  std::string_view text;        // the line as it is, without its end
};

// Takes a log's lines in their order. Lines of one event are a series of strictly increasing steps: an attempt begins
// with an event "start" at the step that it resumes from, a rollback is an event "roll_back" at its step, and both
// supersede earlier lines of later steps.
struct MetricsReader {
  std::vector<MetricsField> fields;
  // Called before the line that supersedes them: earlier lines of `event` (of every event, if it is empty) at step
  // `first` and later no longer count.
  std::function<void(std::string_view event, int64_t first)> drop;
  std::function<void(const MetricsLine& line)> take;
};

// Reads DIR/metrics.jsonl with so many threads, some mebibytes at a time; no log is no lines. Lines that are not whole
// JSON objects of this log are skipped, and those of more than kLongestLine bytes too.
inline constexpr size_t kLongestLine = 4 << 20;
void read_metrics(const fs::path& directory, const MetricsReader& reader, int threads = 1);
// The lines of `event` that count.
std::vector<nlohmann::ordered_json> read_metrics(const fs::path& directory, const std::string& event);

}  // namespace weft
