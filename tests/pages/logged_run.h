// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/scratch.h"

namespace weft::test {

using Json = nlohmann::ordered_json;

// A run directory that holds a log of these lines.
class LoggedRun {
 public:
  explicit LoggedRun(const Scratch& scratch, const std::string& name = "run") : directory_(scratch / name) {
    fs::create_directory(directory_);
  }

  // A line of an event; `at` is its second since midnight.
  void add(const std::string& event, int64_t step, const Json& fields = Json::object(), int64_t at = 0) {
    Json line = {{"run", "abc"}, {"attempt", attempt_}, {"event", event}, {"step", step}};
    line["time"] = fmt::format("2026-03-01T{:02}:{:02}:{:02}Z", at / 3600, at / 60 % 60, at % 60);
    line.update(fields);
    add_text(line.dump());
  }
  void add_text(const std::string& line) { log_ += line + "\n"; }
  void begin_attempt(int64_t attempt, int64_t step, int64_t at = 0) {
    attempt_ = attempt;
    add("start", step, {{"max_steps", 100}}, at);
  }
  // Writes the log and returns the directory.
  fs::path written() const {
    write_file_atomically(directory_ / "metrics.jsonl", log_);
    return directory_;
  }
  void write(const std::string& name, std::string_view text) const { write_file_atomically(directory_ / name, text); }

 private:
  fs::path directory_;
  int64_t attempt_ = 0;
  std::string log_;
};

// The text of a page's block of JSON.
inline std::string block_text(const std::string& page, const std::string& id) {
  const std::string begin = fmt::format("<script type=\"application/json\" id=\"{}\">", id);
  const size_t from = page.find(begin);
  if (from == std::string::npos) return "";
  return page.substr(from + begin.size(), page.find("</script>", from) - from - begin.size());
}
inline Json block(const std::string& page, const std::string& id) { return Json::parse(block_text(page, id)); }

}  // namespace weft::test
