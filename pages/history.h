// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/value.h"
#include "base/files.h"
#include "pages/series.h"

namespace weft {

// The numbers of a line `train` that pages show; "busy_ms" and the like are [min, median, max] of the ranks.
inline constexpr auto kTrainNumbers =
    std::to_array<std::string_view>({"tokens", "loss", "nll", "lr", "grad_norm", "tokens_per_second", "step_ms",
                                     "flops", "mfu", "data_ms", "comm_exposed_ms", "peak_memory"});
inline constexpr auto kRankNumbers = std::to_array<std::string_view>({"busy_ms", "data_wait_ms", "comm_wait_ms"});

// A line of a rarer event, as it is.
struct EventLine {
  int64_t step = 0;
  double time = 0;
  nlohmann::ordered_json fields;
};

// Lines of one event. Of more than `most_bytes` of text the oldest are left out.
class EventLines {
 public:
  explicit EventLines(size_t most_bytes) : most_bytes_(most_bytes) {}
  void add(const MetricsLine& line);
  void drop_from(int64_t first);
  const std::deque<EventLine>& lines() const { return lines_; }
  int64_t left_out() const { return left_out_; }

 private:
  size_t most_bytes_, bytes_ = 0;
  int64_t left_out_ = 0;
  std::deque<EventLine> lines_;
  std::deque<size_t> sizes_;
};

// What a run directory says of its run: the lines of its log that count, its job and its provenance.
class RunHistory {
 public:
  // DataError if there is no such directory, or no log in it.
  explicit RunHistory(const fs::path& directory, int threads = 1);

  const fs::path& directory() const { return directory_; }
  double began() const { return began_; }  // seconds since 1970 of the first line that says a time; NaN without one
  double ended() const { return ended_; }  // the same of the last such line
  const Columns& train() const { return train_; }
  // The column of a number, its place as in MetricsField.
  const std::vector<double>& train_values(std::string_view name, size_t place = 0) const;
  const EventLines& evaluations() const { return evaluations_; }
  const EventLines& generations() const { return generations_; }
  const EventLines& marks() const { return marks_; }    // start, save, save_failed, skip and roll_back
  const EventLines& starts() const { return starts_; }  // also those that a later attempt superseded
  // Target tokens that the run had seen after a step, as its lines say; NaN if they do not.
  double tokens_at(int64_t step) const;
  // Of the resolved job; Null if there is none that can be read.
  const ConfigValue& job() const { return job_; }
  // run.json, or what the last start says; null without either.
  const nlohmann::ordered_json& provenance() const { return provenance_; }

 private:
  void drop(std::string_view event, int64_t first);
  void take(const MetricsLine& line);
  void read_job();
  void read_provenance();

  fs::path directory_;
  double began_, ended_;
  Columns train_;
  EventLines evaluations_, generations_, marks_, starts_;
  ConfigValue job_;
  nlohmann::ordered_json provenance_;
};

}  // namespace weft
