// SPDX-License-Identifier: Apache-2.0
#include "pages/terminal_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/progress.h"
#include "base/text/utf8.h"
#include "pages/dotted_curve.h"
#include "pages/text.h"

namespace weft {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kGap = "   ";

// Characters from U+1100 on may take two columns, but for punctuation, arrows, blocks and Braille.
bool may_be_wide(char32_t c) { return c >= 0x1100 && (c < 0x2010 || c >= 0x2900); }

// The beginning of a line that fits. page_text() leaves line ends and tabs, which are spaces here.
std::string cut(const std::string& line, int columns) {
  std::u32string kept;
  int used = 0;
  for (const char32_t character : decode_utf8(line)) {
    used += may_be_wide(character) ? 2 : 1;
    if (used > columns) break;
    kept += character == '\n' || character == '\t' ? ' ' : character;
  }
  return encode_utf8(kept);
}

// The last value of a column that is one; NaN without any.
double latest(const RunHistory& run, std::string_view name, size_t place = 0) {
  const std::vector<double>& values = run.train_values(name, place);
  const auto at = std::find_if(values.rbegin(), values.rend(), [](double v) { return std::isfinite(v); });
  return at == values.rend() ? kNoValue : *at;
}

// Parts of a line, of which those that say nothing are left out.
class Parts {
 public:
  void add(double value, const std::string& text) {
    if (std::isfinite(value)) add(text);
  }
  void add(const std::string& text) { line_ += (line_.empty() ? "" : std::string(kGap)) + text; }
  void append_to(Lines& lines) const {
    if (!line_.empty()) lines.push_back(line_);
  }

 private:
  std::string line_;
};

// What every line of the view follows from.
struct View {
  const RunHistory& run;
  bool owned;
  double now;
  TerminalSize size;

  int64_t step() const { return run.train().steps().empty() ? 0 : run.train().steps().back(); }
  double last_step() const {
    return run.starts().empty() ? kNoValue : member_number(run.starts().back().fields, "max_steps");
  }
  bool finished() const { return static_cast<double>(step()) >= last_step(); }
  double age() const { return std::max(0.0, now - run.ended()); }
  std::string ago(double time) const { return format_duration(std::max(0.0, now - time)) + " ago"; }
};

Pace pace_of(const RunHistory& run) {
  const std::vector<int64_t>& steps = run.train().steps();
  Pace pace;
  for (size_t i = steps.size() - std::min<size_t>(steps.size(), 2 * Pace::kMarks); i < steps.size(); ++i) {
    pace.reach(static_cast<double>(steps[i]), run.train().times()[i]);
  }
  return pace;
}

std::string title(const View& view) {
  const std::string since = std::isfinite(view.run.ended()) ? ", last line " + view.ago(view.run.ended()) : "";
  const char* state = view.owned ? "training" : view.finished() ? "finished" : "no process works on it";
  return page_text(view.run.directory().string()) + ": " + state + since;
}

std::string bar(double share, const TerminalSize& size) {
  constexpr int kLength = 24;
  const int full = static_cast<int>(std::lround(kLength * std::clamp(share, 0.0, 1.0)));
  std::string text;
  for (int i = 0; i < kLength; ++i) text += size.utf8 ? (i < full ? "\u2588" : "\u2591") : (i < full ? "#" : "-");
  return text;
}

std::string progress_line(const View& view) {
  const double last = view.last_step(), share = static_cast<double>(view.step()) / last;
  if (!(last > 0)) return fmt::format("step {}", view.step());
  std::string line =
      fmt::format("step {} of {:.0f} {} {:.0f} %", view.step(), last, bar(share, view.size), 100 * share);
  const double left = pace_of(view.run).seconds_left(last);
  if (view.owned && std::isfinite(left)) line += fmt::format("{}{} left", kGap, format_duration(left));
  return line;
}

std::string validation(const RunHistory& run) {
  if (run.events("eval").empty()) return {};
  const EventLine& line = run.events("eval").back();
  if (!std::isfinite(member_number(line.fields, "loss"))) return {};
  std::string text = fmt::format("validation {:.4f} at step {}", member_number(line.fields, "loss"), line.step);
  const double best = member_number(line.fields, "best_step");
  if (std::isfinite(best))
    text += best == static_cast<double>(line.step) ? " (best)" : fmt::format(" (best: step {:.0f})", best);
  return text;
}

// The least, the median and the most of the ranks.
std::string spread(const RunHistory& run, std::string_view name) {
  return fmt::format("{:.1f}/{:.1f}/{:.1f}", latest(run, name, 1), latest(run, name, 2), latest(run, name, 3));
}

Lines numbers(const View& view) {
  const RunHistory& run = view.run;
  const auto of = [&](std::string_view name) { return latest(run, name); };
  Parts losses, speed, ranks;
  losses.add(of("loss"), fmt::format("loss {:.4f}", of("loss")));
  if (const std::string text = validation(run); !text.empty()) losses.add(text);
  losses.add(of("grad_norm"), fmt::format("norm {:.3g}", of("grad_norm")));
  losses.add(of("lr"), fmt::format("lr {:.2e}", of("lr")));
  speed.add(of("tokens_per_second"), format_count(of("tokens_per_second")) + " tokens/s");
  speed.add(of("step_ms"), fmt::format("{:.1f} ms a step", of("step_ms")));
  speed.add(of("mfu"), fmt::format("MFU {:.1f} %", 100 * of("mfu")));
  speed.add(of("peak_memory"), fmt::format("{:.1f} GiB", of("peak_memory") / (1 << 30)));
  if (std::isfinite(latest(run, "busy_ms", 1))) {
    ranks.add(fmt::format("ranks, ms: busy {}", spread(run, "busy_ms")));
    ranks.add(fmt::format("data {}", spread(run, "data_wait_ms")));
    ranks.add(fmt::format("others {}", spread(run, "comm_wait_ms")));
  }
  Lines lines;
  for (const Parts* parts : {&losses, &speed, &ranks}) parts->append_to(lines);
  return lines;
}

// The seconds without a line from which on something seems to be wrong: many times what passes between two lines.
double long_silence(const RunHistory& run) {
  constexpr double kTimes = 20, kLeast = 120;
  const std::vector<double>& times = run.train().times();
  const size_t rows = std::min<size_t>(times.size(), 20);
  if (rows < 2) return 10 * kLeast;
  const double between = (times.back() - times[times.size() - rows]) / static_cast<double>(rows - 1);
  return std::max(kLeast, kTimes * between);
}

Lines alarms(const View& view) {
  const RunHistory& run = view.run;
  Lines lines;
  const auto& saves = run.events("save");
  const auto& failed = run.events("save_failed");
  if (!failed.empty() && (saves.empty() || saves.back().step < failed.back().step)) {
    lines.push_back(fmt::format("the save of step {} failed, and none has succeeded since", failed.back().step));
  }
  if (const auto& skips = run.events("skip"); !skips.empty()) {
    lines.push_back(fmt::format("{} skipped, the last at {}", counted(std::ssize(skips), "step"), skips.back().step));
  }
  if (const auto& back = run.events("roll_back"); !back.empty()) {
    lines.push_back(
        fmt::format("rolled back {}, the last to step {}", counted(std::ssize(back), "time"), back.back().step));
  }
  if (view.owned && !view.finished() && view.age() > long_silence(run)) {
    lines.push_back(fmt::format("no line for {}", format_duration(view.age())));
  }
  if (!view.owned && !view.finished()) lines.push_back("it has not reached its last step, and no process works on it");
  for (std::string& line : lines) line.insert(0, "! ");
  return lines;
}

Lines checkpoints(const View& view) {
  Parts parts;
  if (const auto& saves = view.run.events("save"); !saves.empty()) {
    parts.add(fmt::format("checkpoint of step {}, {}", saves.back().step, view.ago(saves.back().time)));
  }
  if (view.run.starts().size() > 1) {
    parts.add(fmt::format("{}, the last from step {}", counted(std::ssize(view.run.starts()), "start"),
                          view.run.starts().back().step));
  }
  Lines lines;
  parts.append_to(lines);
  return lines;
}

Lines texts(const View& view) {
  constexpr size_t kMostText = 1000;  // bytes of one: a terminal shows a line of it
  const auto& events = view.run.events("generations");
  if (events.empty()) return {};
  Lines lines{fmt::format("texts of step {}:", events.back().step)};
  for (const GeneratedText& made : generated_texts(events.back())) {
    lines.push_back(fmt::format("  {} => {}", page_text(made.prompt, kMostText), page_text(made.text, kMostText)));
  }
  return lines;
}

// The training loss, with its scale on the left and its steps below.
Lines curve(const View& view, int rows) {
  constexpr int kScale = 9, kLeastRows = 3, kLeastColumns = 10;
  const std::vector<double>& loss = view.run.train_values("loss");
  const int columns = view.size.columns - kScale;
  if (loss.empty() || rows - 1 < kLeastRows || columns < kLeastColumns) return {};
  const Bins bins(loss.size(), static_cast<size_t>(2 * columns));
  const std::vector<double> means = binned(bins, loss, loss, loss).mean;
  const CurveScale scale = CurveScale::of(means);
  Lines lines = dotted_curve(means, scale, columns, rows - 1, view.size.utf8);
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool top = i == 0, bottom = i + 1 == lines.size();
    lines[i].insert(0,
                    top || bottom ? fmt::format("{:8.4g} ", top ? scale.high : scale.low) : std::string(kScale, ' '));
  }
  const std::string first =
      fmt::format("loss{}, step {}", scale.logarithmic ? " (logarithmic)" : "", view.run.train().steps().front());
  const std::string last = std::to_string(view.step());
  const int between = columns - static_cast<int>(first.size() + last.size());
  lines.push_back(std::string(kScale, ' ') + first + std::string(static_cast<size_t>(std::max(between, 1)), ' ') +
                  last);
  return lines;
}

}  // namespace

std::vector<std::string> terminal_view(const RunHistory& run, bool owned, double now, const TerminalSize& size) {
  const View view{run, owned, now, size};
  Lines lines{title(view), progress_line(view)};
  const auto append = [&](const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); };
  append(numbers(view));
  append(checkpoints(view));
  append(alarms(view));
  const Lines made = texts(view);
  // The texts get what the curve leaves, and the curve at least half of what there is.
  const int free = size.rows - static_cast<int>(lines.size());
  const int of_texts = std::min(static_cast<int>(made.size()), free / 2);
  append(curve(view, std::min(free - of_texts, 16)));
  append({made.begin(), made.begin() + std::max(of_texts, 0)});
  if (std::ssize(lines) > size.rows) lines.resize(static_cast<size_t>(std::max(size.rows, 0)));
  for (std::string& line : lines) line = cut(line, size.columns);
  return lines;
}

}  // namespace weft
