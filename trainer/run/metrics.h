// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "trainer/run/append_log.h"

namespace weft {

// DIR/metrics.jsonl: one JSON object per line, in an AppendLog. Every line carries run, attempt, event (train, eval,
// save, ...), step and the wall time.
class MetricsLog {
 public:
  // Opens the log of a run directory and cuts off a partial last line that an earlier attempt has left.
  MetricsLog(const fs::path& directory, std::string run, int64_t attempt);
  void write(const char* event, int64_t step, const nlohmann::ordered_json& fields);
  void finish() { log_.finish(); }

 private:
  std::string run_;
  int64_t attempt_;
  AppendLog log_;
};

// One more than the highest attempt in the log; 0 if there is no log.
int64_t next_attempt(const fs::path& directory);

// The lines of `event` as one series of strictly increasing steps: an attempt begins with an event "start" at the step
// that it resumes from, a rollback is an event "roll_back" at its step, and both supersede earlier lines of later
// steps. Lines that are not whole JSON objects are skipped.
std::vector<nlohmann::ordered_json> read_metrics(const fs::path& directory, const std::string& event);

}  // namespace weft
