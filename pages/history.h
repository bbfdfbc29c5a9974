// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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

// The other events that pages show; kMarks are marks in their plots.
inline constexpr auto kMarks = std::to_array<std::string_view>({"start", "save", "save_failed", "skip", "roll_back"});
inline constexpr auto kEvents = std::to_array<std::string_view>(
    {"start", "save", "save_failed", "skip", "roll_back", "eval", "generations", "trace"});

// A member that is a number; NaN for any other, or none.
double member_number(const nlohmann::ordered_json& fields, const std::string& name);

// A line of such an event, as it is.
struct EventLine {
  int64_t step = 0;
  double time = 0;
  nlohmann::ordered_json fields;
};

// A text of an event `generations`, as the model made it. What is of another kind in the log is empty here, or NaN.
struct GeneratedText {
  double temperature = 0;
  std::string prompt, text;
};
std::vector<GeneratedText> generated_texts(const EventLine& line);

// Lines of one event. Of more than kMostBytes of text the oldest are left out.
class EventLines {
 public:
  void add(const MetricsLine& line);
  void drop_from(int64_t first);
  const std::deque<EventLine>& lines() const { return lines_; }

 private:
  static constexpr size_t kMostBytes = 8 << 20;
  size_t bytes_ = 0;
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
  // Of an event of kEvents, the lines that count.
  const std::deque<EventLine>& events(std::string_view event) const { return events_.find(event)->second.lines(); }
  // Of every attempt, whether or not a later one has superseded it.
  const std::deque<EventLine>& starts() const { return starts_.lines(); }
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
  std::map<std::string, EventLines, std::less<>> events_;
  EventLines starts_;
  ConfigValue job_;
  nlohmann::ordered_json provenance_;
};

}  // namespace weft
