// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/metrics.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"

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

}  // namespace

MetricsLog::MetricsLog(const fs::path& directory, std::string run, int64_t attempt)
    : run_(std::move(run)), attempt_(attempt) {
  try {
    const fs::path path = log_path(directory);
    if (fs::exists(path)) {
      const std::string text = read_file(path);
      const size_t end = text.rfind('\n');
      fs::resize_file(path, end == std::string::npos ? 0 : end + 1);
    }
    file_ = std::make_unique<File>(path, File::Mode::ReadWrite);
  } catch (const std::exception& error) {
    log_warning("metrics are not written: {}", error.what());
  }
}

MetricsLog::~MetricsLog() = default;

void MetricsLog::write(const char* event, int64_t step, const Json& fields) {
  if (!file_) return;
  Json line = {{"run", run_}, {"attempt", attempt_}, {"event", event}, {"step", step}};
  if (fields.is_object()) line.update(fields);
  uint64_t before = 0;
  try {
    before = file_->size();
    file_->append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    if (failing_) log_info("metrics are written again from step {} on", step);
    failing_ = false;
  } catch (const std::exception& error) {
    // A full disk may have taken part of the line, which must not run into the next line.
    std::error_code ignored;
    if (fs::file_size(file_->path(), ignored) > before) fs::resize_file(file_->path(), before, ignored);
    if (!failing_) log_warning("metrics are not written from step {} on: {}", step, error.what());
    failing_ = true;
  }
}

int64_t next_attempt(const fs::path& directory) {
  int64_t next = 0;
  for (const Json& line : whole_lines(log_path(directory))) {
    next = std::max(next, line["attempt"].get<int64_t>() + 1);
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
