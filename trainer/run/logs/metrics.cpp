// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/logs/metrics.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "base/parallel_for.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

fs::path log_path(const fs::path& directory) { return directory / "metrics.jsonl"; }

// Reads the line's own members and the fields that are asked for.
class LineScan : public JsonMembers {
 public:
  LineScan(const std::vector<MetricsField>& fields, MetricsLine& line) : fields_(fields), line_(line) {}

  void number(std::string_view name, size_t place, const JsonNumber& value) override {
    if (place == 0 && name == "step") step_ = value.whole;
    if (place == 0 && name == "attempt") attempt_ = value.whole;
    // Lines have the fields in one order, so the next one is usually the one after the last one found.
    for (size_t i = 0; i < fields_.size(); ++i) {
      const size_t at = (next_ + i) % fields_.size();
      if (fields_[at].place != place || fields_[at].name != name) continue;
      line_.numbers[at] = value.value;
      next_ = at + 1;
      return;
    }
  }
  void text(std::string_view name, size_t place, std::string_view value) override {
    if (place != 0) return;
    if (name == "event") line_.event = value, has_event_ = true;
    if (name == "time") {
      if (const auto seconds = seconds_of_utc(value)) line_.time = static_cast<double>(*seconds);
    }
  }
  // Whether the line is one of this log.
  bool finish() {
    constexpr int64_t kMost = int64_t{1} << 62;  // a larger number was written by nobody
    if (!has_event_ || !step_ || !attempt_ || *step_ > kMost) return false;
    line_.step = *step_, line_.attempt = *attempt_;
    return true;
  }

 private:
  const std::vector<MetricsField>& fields_;
  MetricsLine& line_;
  bool has_event_ = false;
  std::optional<int64_t> step_, attempt_;
  size_t next_ = 0;
};

void scan_lines(std::string_view text, const std::vector<MetricsField>& fields, std::vector<MetricsLine>& lines) {
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    if (end - begin > kLongestLine) continue;
    MetricsLine line{.time = kNone, .numbers = std::vector<double>(fields.size(), kNone)};
    line.text = text.substr(begin, end - begin);
    LineScan scan(fields, line);
    if (scan_json(line.text, scan) && scan.finish()) lines.push_back(std::move(line));
  }
}

// The whole lines of a file, a block of them at a time.
class LineBlocks {
 public:
  explicit LineBlocks(const File& file) : file_(file), size_(file.size()) {}

  // "" at the end. A line that is longer than a block is left out.
  std::string_view next() {
    while (at_ < size_) {
      text_.erase(0, used_);
      const size_t old = text_.size();
      const uint64_t more = std::min<uint64_t>(size_ - at_, kBlock);
      text_.resize(old + more);
      file_.read_at(at_, text_.data() + old, more);
      at_ += more;
      used_ = text_.rfind('\n') + 1;                         // 0: there is none
      if (used_ == 0 && text_.size() > kBlock) text_ = "x";  // what is left of the line is no JSON
      if (used_ > 0) return std::string_view(text_).substr(0, used_);
    }
    return {};
  }

 private:
  static constexpr uint64_t kBlock = 16 << 20;
  const File& file_;
  uint64_t size_, at_ = 0;
  std::string text_;
  size_t used_ = 0;
};

// Cuts lines into so many pieces of whole lines, of similar sizes.
std::vector<std::string_view> cut_lines(std::string_view lines, int pieces) {
  std::vector<std::string_view> cut;
  for (int left = pieces; left > 0 && !lines.empty(); --left) {
    const size_t end = lines.find('\n', lines.size() / static_cast<size_t>(left) - 1) + 1;
    cut.push_back(lines.substr(0, left == 1 ? lines.size() : end));
    lines.remove_prefix(cut.back().size());
  }
  return cut;
}

void pass_on(const MetricsLine& line, const MetricsReader& reader) {
  if (line.event == "start" || line.event == "roll_back") reader.drop("", line.step + 1);
  reader.drop(line.event, line.step);
  reader.take(line);
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

void read_metrics(const fs::path& directory, const MetricsReader& reader, int threads) {
  if (!fs::is_regular_file(log_path(directory))) return;
  const File file(log_path(directory), File::Mode::Read);
  LineBlocks blocks(file);
  for (std::string_view block; !(block = blocks.next()).empty();) {
    const std::vector<std::string_view> pieces = cut_lines(block, threads);
    std::vector<std::vector<MetricsLine>> lines(pieces.size());
    parallel_tasks(threads, static_cast<int64_t>(pieces.size()), [&](int64_t i) {
      const auto piece = static_cast<size_t>(i);
      scan_lines(pieces[piece], reader.fields, lines[piece]);
    });
    for (const auto& piece : lines) {
      for (const MetricsLine& line : piece) pass_on(line, reader);
    }
  }
}

std::vector<Json> read_metrics(const fs::path& directory, const std::string& event) {
  std::vector<Json> series;
  MetricsReader reader;
  reader.drop = [&](std::string_view dropped, int64_t first) {
    if (!dropped.empty() && dropped != event) return;
    while (!series.empty() && series.back()["step"].get<int64_t>() >= first) series.pop_back();
  };
  reader.take = [&](const MetricsLine& line) {
    if (line.event == event) series.push_back(parse_json<Json>(line.text, "an event"));
  };
  read_metrics(directory, reader);
  return series;
}

}  // namespace weft
