// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/metrics.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

fs::path log_path(const fs::path& directory) { return directory / "metrics.jsonl"; }

// Returns null if the text is not a whole line of this log.
std::optional<Json> event_of(std::string_view text) {
  try {
    auto line = parse_json<Json>(text, "an event");
    const bool ours =
        line.at("event").is_string() && line.at("step").is_number_integer() && line.at("attempt").is_number_integer();
    if (ours) return line;
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

std::vector<Json> whole_lines(const fs::path& path) {
  std::vector<Json> lines;
  if (!fs::exists(path)) return lines;
  const std::string text = read_file(path);
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (auto line = event_of(std::string_view(text).substr(begin, end - begin))) lines.push_back(std::move(*line));
  }
  return lines;
}

constexpr int64_t kMostAttempts = int64_t{1} << 40;  // a larger number was written by nobody

// The size of the file up to the end of its last whole line.
uint64_t whole_size(const File& file) {
  constexpr uint64_t kBlock = 64 << 10;
  std::string block;
  for (uint64_t end = file.size(); end > 0;) {
    const uint64_t begin = end - std::min(end, kBlock);
    block.resize(end - begin);
    file.read_at(begin, block.data(), block.size());
    if (const size_t at = block.rfind('\n'); at != std::string::npos) return begin + at + 1;
    end = begin;
  }
  return 0;
}

}  // namespace

MetricsLog::MetricsLog(const fs::path& directory, std::string run, int64_t attempt)
    : run_(std::move(run)), attempt_(attempt), log_("metrics", log_path(directory), whole_size) {}

void MetricsLog::write(const char* event, int64_t step, const Json& fields) {
  Json line = {{"run", run_}, {"attempt", attempt_}, {"event", event}, {"step", step}, {"time", utc_time()}};
  if (fields.is_object()) line.update(fields);
  log_.append(step, line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// A log may have millions of lines: only this one number is read in each.
int64_t next_attempt(const fs::path& directory) {
  constexpr std::string_view kKey = "\"attempt\":";
  int64_t next = 0;
  std::ifstream log(log_path(directory));
  for (std::string line; std::getline(log, line);) {
    const size_t at = line.find(kKey);
    if (at == std::string::npos) continue;
    int64_t attempt = -1;
    std::from_chars(line.data() + at + kKey.size(), line.data() + line.size(), attempt);
    if (attempt < kMostAttempts) next = std::max(next, attempt + 1);
  }
  return next;
}

std::vector<Json> read_metrics(const fs::path& directory, const std::string& event) {
  std::vector<Json> series;
  for (Json& line : whole_lines(log_path(directory))) {
    const auto step = line["step"].get<int64_t>();
    const auto drop_from = [&](int64_t first) {
      while (!series.empty() && series.back()["step"].get<int64_t>() >= first) series.pop_back();
    };
    if (line["event"] == "start" || line["event"] == "roll_back") drop_from(step + 1);
    if (line["event"] != event) continue;
    drop_from(step);
    series.push_back(std::move(line));
  }
  return series;
}

}  // namespace weft
