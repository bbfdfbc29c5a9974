// SPDX-License-Identifier: Apache-2.0
#include "pages/history.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMebibyte = 1 << 20;
constexpr size_t kPlaces = 3;  // a number of the ranks is [min, median, max]

std::vector<MetricsField> train_fields() {
  std::vector<MetricsField> fields;
  for (const std::string_view name : kTrainNumbers) fields.push_back({.name = std::string(name)});
  for (const std::string_view name : kRankNumbers) {
    for (size_t place = 1; place <= kPlaces; ++place) fields.push_back({.name = std::string(name), .place = place});
  }
  return fields;
}

// A file that may be missing or damaged in a run directory that still has a log.
std::string small_file(const fs::path& path) {
  try {
    return fs::exists(path) ? read_file(path, kMebibyte) : "";
  } catch (const DataError&) {
    return "";
  }
}

std::string member_text(const Json& fields, const char* name) {
  const auto at = fields.find(name);
  return at != fields.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

double member_number(const Json& fields, const std::string& name) {
  const auto at = fields.find(name);
  return at != fields.end() && at->is_number() ? at->get<double>() : kNoValue;
}

std::vector<GeneratedText> generated_texts(const EventLine& line) {
  std::vector<GeneratedText> texts;
  const auto list = line.fields.find("generations");
  if (list == line.fields.end() || !list->is_array()) return texts;
  for (const Json& made : *list) {
    if (!made.is_object()) continue;
    texts.push_back({.temperature = member_number(made, "temperature"),
                     .prompt = member_text(made, "prompt"),
                     .text = member_text(made, "text")});
  }
  return texts;
}

void EventLines::add(const MetricsLine& line) {
  lines_.push_back({.step = line.step, .time = line.time, .fields = parse_json<Json>(line.text, "an event")});
  sizes_.push_back(line.text.size());
  for (bytes_ += line.text.size(); bytes_ > kMostBytes && lines_.size() > 1;) {
    bytes_ -= sizes_.front();
    lines_.pop_front();
    sizes_.pop_front();
  }
}

void EventLines::drop_from(int64_t first) {
  while (!lines_.empty() && lines_.back().step >= first) {
    bytes_ -= sizes_.back();
    lines_.pop_back();
    sizes_.pop_back();
  }
}

RunHistory::RunHistory(const fs::path& directory, int threads)
    : directory_(directory),
      began_(kNoValue),
      ended_(kNoValue),
      train_(kTrainNumbers.size() + kRankNumbers.size() * kPlaces) {
  std::error_code ignored;
  if (!fs::is_regular_file(directory / "metrics.jsonl", ignored)) {
    const bool there = fs::is_directory(directory, ignored);
    throw DataError(fmt::format("{}: {}", directory.string(), there ? "no metrics.jsonl in it" : "no such directory"),
                    "give the directory of a run that has begun (runs/NAME), as weft train writes it");
  }
  for (const std::string_view event : kEvents) events_.try_emplace(std::string(event));
  MetricsReader reader{.fields = train_fields()};
  reader.drop = [this](std::string_view event, int64_t first) { drop(event, first); };
  reader.take = [this](const MetricsLine& line) { take(line); };
  read_metrics(directory, reader, threads);
  read_job();
  read_provenance();
}

void RunHistory::drop(std::string_view event, int64_t first) {
  if (event.empty() || event == "train") train_.drop_from(first);
  for (auto& [name, lines] : events_) {
    if (event.empty() || event == name) lines.drop_from(first);
  }
}

void RunHistory::take(const MetricsLine& line) {
  if (std::isnan(began_)) began_ = line.time;
  if (!std::isnan(line.time)) ended_ = line.time;
  if (line.event == "train") train_.add(line);
  if (line.event == "start") starts_.add(line);
  if (const auto at = events_.find(line.event); at != events_.end()) at->second.add(line);
}

const std::vector<double>& RunHistory::train_values(std::string_view name, size_t place) const {
  if (place == 0)
    return train_.values(static_cast<size_t>(std::ranges::find(kTrainNumbers, name) - kTrainNumbers.begin()));
  const auto rank = static_cast<size_t>(std::ranges::find(kRankNumbers, name) - kRankNumbers.begin());
  return train_.values(kTrainNumbers.size() + kPlaces * rank + place - 1);
}

double RunHistory::tokens_at(int64_t step) const {
  const std::vector<double>& tokens = train_values("tokens");
  const auto after = static_cast<size_t>(std::ranges::upper_bound(train_.steps(), step) - train_.steps().begin());
  if (after == 0) return step == 0 ? 0 : kNoValue;
  return after <= tokens.size() ? tokens[after - 1] : kNoValue;
}

void RunHistory::read_job() {
  ConfigProblems problems;  // a job that cannot be read is not compared
  job_ = parse_yaml(small_file(directory_ / "job.yaml"), "job.yaml", Layout::File, problems);
  if (!problems.empty()) job_ = {};
}

void RunHistory::read_provenance() {
  try {
    const std::string text = small_file(directory_ / "run.json");
    if (!text.empty()) provenance_ = parse_json<Json>(text, "run.json");
  } catch (const DataError&) {
    provenance_ = nullptr;
  }
  if (provenance_.is_null() && !starts().empty()) {
    const Json& fields = starts().back().fields;
    if (const auto at = fields.find("provenance"); at != fields.end()) provenance_ = *at;
  }
}

}  // namespace weft
