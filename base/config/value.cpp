// SPDX-License-Identifier: Apache-2.0
#include "base/config/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/error.h"

namespace weft {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text;
}

bool has_base_prefix(std::string_view text) { return text.starts_with("0x") || text.starts_with("0o"); }

bool is_integer(std::string_view text) {
  if (has_base_prefix(text)) {
    const std::string_view allowed = text[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567";
    return text.size() > 2 && text.substr(2).find_first_not_of(allowed) == std::string_view::npos;
  }
  text = without_sign(text);
  return !text.empty() && skip_digits(text, 0) == text.size();
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?, and .inf and .nan
bool is_number(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return true;
  text = without_sign(text);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return true;
  size_t at = skip_digits(text, 0);
  size_t digits = at;
  if (at < text.size() && text[at] == '.') {
    const size_t end = skip_digits(text, at + 1);
    digits += end - at - 1;
    at = end;
  }
  if (digits == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const size_t end = skip_digits(text, at);
    if (end == at) return false;
    at = end;
  }
  return at == text.size();
}

std::string shortened(const std::string& text) {
  constexpr size_t kLongest = 60;
  std::string shown;
  for (const char c : text) {
    if (shown.size() >= kLongest) return shown + "...";
    shown += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return shown;
}

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_back(b.size() + 1);
  std::vector<size_t> back(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    two_back.swap(back);
    back.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({back[j - 1] + (a[i - 1] != b[j - 1]), back[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

void throw_no_name(int64_t value) {
  throw InternalError(fmt::format("value {} of an enum has no name in its EnumNames", value));
}

std::string ConfigLocation::text() const {
  if (!source) return "?";
  return line == 0 ? *source : fmt::format("{}:{}:{}", *source, line, column);
}

const ConfigEntry* ConfigValue::find(std::string_view key) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const ConfigEntry& e) { return e.key == key; });
  return at == entries.end() ? nullptr : &*at;
}

ConfigEntry* ConfigValue::find(std::string_view key) {
  return const_cast<ConfigEntry*>(std::as_const(*this).find(key));
}

ConfigValue::Kind plain_scalar_kind(std::string_view text) {
  using Kind = ConfigValue::Kind;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Kind::Null;
  for (const char* word : {"true", "True", "TRUE", "false", "False", "FALSE"}) {
    if (text == word) return Kind::Boolean;
  }
  if (is_integer(text)) return Kind::Integer;
  if (is_number(text)) return Kind::Number;
  return Kind::Text;
}

std::string name_of_scalar(const ConfigValue& value) {
  if (value.kind != ConfigValue::Kind::Boolean) return value.text;
  return value.text[0] == 't' || value.text[0] == 'T' ? "true" : "false";
}

bool scalar_to_integer(std::string_view text, int64_t& value) {
  int base = 10;
  if (has_base_prefix(text)) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  } else if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool scalar_to_number(std::string_view text, double& value) {
  if (has_base_prefix(text)) {
    int64_t integer = 0;
    if (!scalar_to_integer(text, integer)) return false;
    value = static_cast<double>(integer);
    return true;
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

namespace {
struct DurationUnit {
  char letter;
  int64_t seconds;
};
constexpr DurationUnit kDurationUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
}  // namespace

std::optional<Duration> text_to_duration(std::string_view text) {
  constexpr int64_t kMost = int64_t{3660} * 86400;
  Duration sum;
  for (const auto& [letter, seconds] : kDurationUnits) {
    const size_t digits = skip_digits(text, 0);
    if (digits == 0 || digits == text.size() || text[digits] != letter) continue;
    int64_t number = 0;
    if (!scalar_to_integer(text.substr(0, digits), number) || number > kMost) return std::nullopt;
    sum.seconds += number * seconds;
    text.remove_prefix(digits + 1);
  }
  if (!text.empty() || sum.seconds < 1 || sum.seconds > kMost) return std::nullopt;
  return sum;
}

std::string duration_text(Duration duration) {
  std::string text;
  for (const auto& [letter, seconds] : kDurationUnits) {
    if (duration.seconds >= seconds) text += fmt::format("{}{}", duration.seconds / seconds, letter);
    duration.seconds %= seconds;
  }
  return text.empty() ? "0s" : text;
}

std::string describe_value(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::Null:
      return "nothing (null)";
    case ConfigValue::Kind::Boolean:
      return fmt::format("{} (true or false)", value.text);
    case ConfigValue::Kind::Integer:
      return fmt::format("{} (an integer)", shortened(value.text));
    case ConfigValue::Kind::Number:
      return fmt::format("{} (a number)", shortened(value.text));
    case ConfigValue::Kind::Text:
      return fmt::format("'{}' (text)", shortened(value.text));
    case ConfigValue::Kind::List:
      return fmt::format("a list of {}", value.items.size());
    case ConfigValue::Kind::Map:
      break;
  }
  std::vector<std::string> keys;
  for (const ConfigEntry& entry : value.entries) keys.push_back(entry.key);
  return fmt::format("a section ({})", shortened(fmt::format("{}", fmt::join(keys, ", "))));
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = name.size();
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer > 100) continue;  // the distance is quadratic, and names that long are no typing errors
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance <= std::max<size_t>(1, longer / 3)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void throw_problems(ConfigProblems problems) {
  if (problems.empty()) return;
  constexpr size_t kMostShown = 50;
  std::stable_sort(problems.begin(), problems.end(), [](const ConfigProblem& a, const ConfigProblem& b) {
    const auto key = [](const ConfigProblem& p) {
      return std::tuple(p.where.source ? std::string_view(*p.where.source) : "", p.where.line, p.where.column);
    };
    return key(a) < key(b);
  });
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(problems.size(), kMostShown); ++i) {
    lines.push_back(fmt::format("{}: {}", problems[i].where.text(), problems[i].what));
  }
  if (problems.size() > kMostShown) lines.push_back(fmt::format("and {} more", problems.size() - kMostShown));
  throw ConfigError(fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace weft
