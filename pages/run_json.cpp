// SPDX-License-Identifier: Apache-2.0
#include "pages/run_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/config/writer.h"
#include "pages/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// What bounds a page whatever a log holds: the number of marks of a kind, attempts, rows of provenance, scores, steps
// with generations and texts of a step, traced stretches and the rows of each; bytes of a text, of what an event says,
// and of a name.
constexpr size_t kMostMarks = 1000, kMostAttempts = 1000, kMostProvenance = 400, kMostScores = 16;
constexpr size_t kMostGenerations = 40, kMostTexts = 24;
constexpr size_t kMostTraces = 4, kMostTimes = 200;
constexpr size_t kMostText = 800, kMostDetails = 300, kMostWord = 200;

// A whole number without a fraction, as the log has it; null if it is not finite.
Json number_json(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) <= kExact) return static_cast<int64_t>(value);
  return value;
}

// A mean needs no more digits than a plot and its table show.
double shortened(double value) { return std::isfinite(value) ? std::stod(fmt::format("{:.7g}", value)) : value; }

template <class Values>
Json list_json(const Values& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number_json(value));
  return list;
}

// Rows of one event with what the horizontal axes say, cut into bins.
class Table {
 public:
  Table(const RunHistory& history, const std::vector<int64_t>& steps, const std::vector<double>& times, size_t bins)
      : bins_(steps.size(), bins) {
    Json step = Json::array(), tokens = Json::array(), seconds = Json::array();
    double latest_tokens = 0, latest = 0;
    for (size_t row = 0, bin = 0; row < steps.size(); ++row) {
      latest = std::fmax(latest, times[row] - history.began());  // a clock may be set back; fmax passes over NaN
      if (row != bins_.last(bin)) continue;
      ++bin;
      latest_tokens = std::fmax(latest_tokens, history.tokens_at(steps[row]));
      step.push_back(steps[row]);
      tokens.push_back(number_json(latest_tokens));
      seconds.push_back(number_json(latest));
    }
    json_ = {{"step", std::move(step)}, {"tokens", std::move(tokens)}, {"seconds", std::move(seconds)}};
    json_["values"] = Json::object();
  }

  void add(const std::string& name, std::span<const double> values) {
    add(name, values, values, values, bins_.whole());
  }
  void add_spread(const std::string& name, std::span<const double> low, std::span<const double> middle,
                  std::span<const double> high) {
    if (!low.empty() && low.size() == middle.size() && low.size() == high.size()) add(name, low, middle, high, false);
  }
  Json take() { return std::move(json_); }

 private:
  void add(const std::string& name, std::span<const double> low, std::span<const double> middle,
           std::span<const double> high, bool line) {
    if (std::ranges::none_of(middle, [](double value) { return std::isfinite(value); })) return;
    BinnedValues made = binned(bins_, low, middle, high);
    if (!bins_.whole()) std::ranges::transform(made.mean, made.mean.begin(), shortened);
    Json& series = json_["values"][name];
    series = {{"mean", list_json(made.mean)}};
    if (line) return;
    series["low"] = list_json(made.low);
    series["high"] = list_json(made.high);
  }

  Bins bins_;
  Json json_;
};

// A column that ends early has no number in the rows after that.
std::vector<double> filled(const std::vector<double>& column, size_t rows) {
  std::vector<double> values = column;
  if (!values.empty()) values.resize(rows, kNoValue);
  return values;
}

Json train_json(const RunHistory& history, size_t bins) {
  const Columns& train = history.train();
  const size_t rows = train.steps().size();
  Table table(history, train.steps(), train.times(), bins);
  for (const std::string_view name : kTrainNumbers) {
    if (name != "tokens") table.add(std::string(name), filled(history.train_values(name), rows));
  }
  for (const std::string_view name : kRankNumbers) {
    table.add_spread(std::string(name), filled(history.train_values(name, 1), rows),
                     filled(history.train_values(name, 2), rows), filled(history.train_values(name, 3), rows));
  }
  return table.take();
}

// A score is a number beside a signature of the same name: "bleu" and "bleu_signature".
std::vector<std::string> score_names(const std::deque<EventLine>& evaluations) {
  constexpr std::string_view kSignature = "_signature";
  std::vector<std::string> names;
  for (const EventLine& line : evaluations) {
    for (const auto& [key, value] : line.fields.items()) {
      if (!key.ends_with(kSignature) || key.size() > 64 || names.size() >= kMostScores) continue;
      const std::string name = key.substr(0, key.size() - kSignature.size());
      if (std::isfinite(member_number(line.fields, name)) && std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

Json evaluations_json(const RunHistory& history, size_t bins) {
  const auto& lines = history.events("eval");
  std::vector<int64_t> steps;
  std::vector<double> times;
  for (const EventLine& line : lines) steps.push_back(line.step), times.push_back(line.time);
  Table table(history, steps, times, bins);
  const auto add = [&](const std::string& name, const std::string& shown) {
    std::vector<double> values;
    for (const EventLine& line : lines) values.push_back(member_number(line.fields, name));
    table.add(shown, values);
  };
  add("loss", "loss");
  Json scores = Json::array();
  for (const std::string& name : score_names(lines)) {
    scores.push_back(page_text(name, kMostWord));
    add(name, "score:" + page_text(name, kMostWord));
  }
  Json json = table.take();
  json["scores"] = std::move(scores);
  return json;
}

// Where an event happened, on all three axes.
Json place_json(const RunHistory& history, const EventLine& line) {
  return {{"step", line.step},
          {"tokens", number_json(history.tokens_at(line.step))},
          {"seconds", number_json(line.time - history.began())}};
}

std::string text_of(const Json& value) {
  return page_text(
      value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace),
      kMostWord);
}

// What an event says besides where and when: "loss 7.1, grad_norm 12".
std::string details(const Json& fields) {
  std::string text;
  for (const auto& [key, value] : fields.items()) {
    const bool is_common = key == "run" || key == "attempt" || key == "event" || key == "step" || key == "time";
    if (is_common || value.is_structured() || text.size() > kMostDetails) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", page_text(key, kMostWord), text_of(value));
  }
  return text;
}

Json marks_json(const RunHistory& history) {
  Json marks = Json::array();
  for (const std::string_view kind : kMarks) {
    const auto& lines = history.events(kind);
    const Bins bins(lines.size(), kMostMarks);  // of very many, as skips may be, evenly chosen ones
    for (size_t bin = 0; bin < bins.size(); ++bin) {
      const EventLine& line = lines[bins.begin(bin)];
      Json mark = place_json(history, line);
      mark["kind"] = kind;
      mark["details"] = details(line.fields);
      marks.push_back(std::move(mark));
    }
  }
  return marks;
}

// How many marks of each kind there are, since not all of them may be in the page.
Json counts_json(const RunHistory& history) {
  Json counts = Json::object();
  for (const std::string_view kind : kMarks) counts[std::string(kind)] = history.events(kind).size();
  return counts;
}

Json attempts_json(const RunHistory& history) {
  Json attempts = Json::array();
  const auto& lines = history.starts();
  for (size_t i = lines.size() - std::min(lines.size(), kMostAttempts); i < lines.size(); ++i) {
    Json attempt = place_json(history, lines[i]);
    attempt["attempt"] = lines[i].fields["attempt"];
    attempt["max_steps"] = number_json(member_number(lines[i].fields, "max_steps"));
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

Json texts_json(const EventLine& line) {
  Json texts = Json::array();
  for (const GeneratedText& made : generated_texts(line)) {
    if (texts.size() >= kMostTexts) break;
    texts.push_back({{"temperature", number_json(made.temperature)},
                     {"prompt", page_text(made.prompt, kMostText)},
                     {"text", page_text(made.text, kMostText)}});
  }
  return texts;
}

// Of many, evenly chosen ones, the last among them.
Json generations_json(const RunHistory& history) {
  Json generations = Json::array();
  const auto& lines = history.events("generations");
  const Bins bins(lines.size(), kMostGenerations);
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    const EventLine& line = lines[bins.last(bin)];
    Json made = place_json(history, line);
    made["texts"] = texts_json(line);
    generations.push_back(std::move(made));
  }
  return generations;
}

// Numbers of a list, of which a line may have fewer, or others.
Json numbers_json(const Json& fields, const char* name, size_t count) {
  Json numbers = Json::array();
  const auto list = fields.find(name);
  for (size_t i = 0; i < count; ++i) {
    const bool there = list != fields.end() && list->is_array() && i < list->size() && (*list)[i].is_number();
    numbers.push_back(there ? number_json((*list)[i].get<double>()) : Json(0));
  }
  return numbers;
}

std::string member_page_text(const Json& fields, const char* name) {
  const auto at = fields.find(name);
  return at == fields.end() ? "" : text_of(*at);
}

Json rows_json(const Json& fields) {
  Json rows = Json::array();
  const auto list = fields.find("rows");
  if (list == fields.end() || !list->is_array()) return rows;
  for (const Json& row : *list) {
    if (rows.size() >= kMostTimes) break;
    if (!row.is_object()) continue;
    rows.push_back({{"kind", member_page_text(row, "kind")},
                    {"what", member_page_text(row, "what")},
                    {"calls", number_json(member_number(row, "calls"))},
                    {"ms", numbers_json(row, "ms", 3)},
                    {"flops", number_json(member_number(row, "flops"))},
                    {"bytes_per_second", number_json(member_number(row, "bytes_per_second"))}});
  }
  return rows;
}

// The latest stretches of steps that were traced.
Json traces_json(const RunHistory& history) {
  Json traces = Json::array();
  const auto& lines = history.events("trace");
  for (size_t i = lines.size() - std::min(lines.size(), kMostTraces); i < lines.size(); ++i) {
    const Json& fields = lines[i].fields;
    traces.push_back({{"first", number_json(member_number(fields, "first"))},
                      {"step", lines[i].step},
                      {"file", member_page_text(fields, "file")},
                      {"ranks", number_json(member_number(fields, "ranks"))},
                      {"clock_error_ms", number_json(member_number(fields, "clock_error_ms"))},
                      {"step_ms", numbers_json(fields, "step_ms", 3)},
                      {"rows", rows_json(fields)}});
  }
  return traces;
}

// Each leaf as a row [dotted name, text].
void flatten(const std::string& name, const Json& value, Json& rows) {
  if (rows.size() >= kMostProvenance) return;
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      flatten(name.empty() ? page_text(key, kMostWord) : name + "." + page_text(key, kMostWord), member, rows);
    }
  } else {
    rows.push_back({name, text_of(value)});
  }
}

}  // namespace

Json run_json(const RunHistory& history, const std::string& name, size_t bins) {
  Json provenance = Json::array();
  flatten("", history.provenance(), provenance);
  return {
      {"name", page_text(name, kMostWord)},    {"directory", page_text(history.directory().string(), kMostText)},
      {"began", number_json(history.began())}, {"ended", number_json(history.ended())},
      {"train", train_json(history, bins)},    {"eval", evaluations_json(history, bins)},
      {"counts", counts_json(history)},        {"marks", marks_json(history)},
      {"attempts", attempts_json(history)},    {"generations", generations_json(history)},
      {"traces", traces_json(history)},        {"provenance", std::move(provenance)},
  };
}

Json job_differences(const std::vector<RunHistory>& runs) {
  constexpr size_t kMostRows = 500;
  std::map<std::string, std::vector<std::string>> rows;
  for (size_t k = 1; k < runs.size(); ++k) {
    for (const ConfigChange& change : tree_changes(runs[0].job(), runs[k].job())) {
      if (change.key == "name" || change.key == "run_dir") continue;
      auto& values = rows[change.key];
      values.resize(runs.size(), change.before);
      values[k] = change.after;
    }
  }
  Json list = Json::array();
  for (const auto& [key, values] : rows) {
    if (list.size() >= kMostRows) break;
    Json shown = Json::array();
    for (const std::string& value : values) shown.push_back(page_text(value, kMostWord));
    list.push_back({{"key", page_text(key, kMostWord)}, {"values", std::move(shown)}});
  }
  return list;
}

}  // namespace weft
