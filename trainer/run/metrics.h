// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/files.h"

namespace weft {

// DIR/metrics.jsonl: one JSON object a line, appended by rank 0 in a single write each, so that a kill leaves at most
// one partial last line. Every line carries run, attempt, step and event (train, eval, save, ...).
// A failure to write is logged once and never stops training; later lines are tried again.
class MetricsLog {
 public:
  // Opens the log of a run directory; cuts off a partial last line that an earlier attempt left.
  MetricsLog(const fs::path& directory, std::string run, int64_t attempt);
  ~MetricsLog();
  void write(const char* event, int64_t step, const nlohmann::ordered_json& fields);

 private:
  std::string run_;
  int64_t attempt_;
  std::unique_ptr<File> file_;
  bool failing_ = false;
};

// The highest attempt that the log mentions, plus one; 0 if there is no log.
int64_t next_attempt(const fs::path& directory);

// The lines of `event` as one series of strictly increasing steps: an attempt begins with an event "start" at the step
// that it goes on from, a rollback is an event "roll_back" at its step, and what was written of later steps before it
// is superseded. Lines that are not whole JSON objects are passed over.
std::vector<nlohmann::ordered_json> read_metrics(const fs::path& directory, const std::string& event);

}  // namespace weft
