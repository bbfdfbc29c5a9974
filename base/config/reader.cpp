// SPDX-License-Identifier: Apache-2.0
#include "base/config/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using Kind = ConfigValue::Kind;

std::string name_or_root(const std::string& path) { return path.empty() ? "the configuration" : path; }

std::string bound_text(double bound, bool integer) {
  return integer && std::abs(bound) < 9e18 ? fmt::format("{}", static_cast<int64_t>(bound)) : fmt::format("{}", bound);
}

// Compared as integers if the bound is one: a double cannot tell 2^53 from 2^53 + 1.
bool within(int64_t value, const Range& range) {
  if (range.min >= 9.3e18 || range.max <= -9.3e18) return false;
  if (range.min > -9.2e18 && value < static_cast<int64_t>(std::ceil(range.min))) return false;
  return range.max >= 9.2e18 || value <= static_cast<int64_t>(std::floor(range.max));
}

std::string did_you_mean(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

// The key of that name in another section: "schedule.warmup_steps" for an unknown "warmup_steps".
std::string same_name_elsewhere(const std::string& key, const std::vector<std::string>& all_keys) {
  for (const std::string& candidate : all_keys) {
    if (candidate == key || candidate.ends_with("." + key)) return candidate;
  }
  return {};
}

}  // namespace

std::string describe_range(const char* noun, const Range& range, bool integer) {
  const bool low = std::isfinite(range.min);
  const bool high = std::isfinite(range.max);
  if (low && high) {
    return fmt::format("{} from {} to {}", noun, bound_text(range.min, integer), bound_text(range.max, integer));
  }
  if (low) return fmt::format("{} >= {}", noun, bound_text(range.min, integer));
  if (high) return fmt::format("{} <= {}", noun, bound_text(range.max, integer));
  return noun;
}

void ConfigReader::wrong_type(const ConfigValue& value, const std::string& path, const std::string& expected) {
  problems_.push_back(
      {value.location, fmt::format("{}: expected {}, got {}", name_or_root(path), expected, describe_value(value))});
}

void ConfigReader::wrong_choice(const ConfigValue& value, const std::string& path,
                                const std::vector<std::string>& choices) {
  problems_.push_back(
      {value.location, fmt::format("{}: expected one of {}, got {}{}", path, fmt::join(choices, ", "),
                                   describe_value(value), did_you_mean(nearest_name(value.text, choices)))});
}

void ConfigReader::check_keys(const ConfigValue& section, const std::string& path,
                              const std::vector<std::string>& known) {
  for (const ConfigEntry& entry : section.entries) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      unknown_.push_back({entry.location, path, entry.key, known});
    }
  }
}

void ConfigReader::finish(const std::vector<std::string>& all_keys) {
  for (const Unknown& unknown : unknown_) {
    std::string nearest = nearest_name(unknown.key, unknown.known);
    if (nearest.empty()) nearest = same_name_elsewhere(unknown.key, all_keys);
    problems_.push_back({unknown.where, fmt::format("{}{}{}: unknown key{} (known: {})", unknown.path,
                                                    unknown.path.empty() ? "" : ".", unknown.key.substr(0, 100),
                                                    did_you_mean(nearest), fmt::join(unknown.known, ", "))});
  }
  throw_problems(std::move(problems_));
}

void ConfigReader::read(const ConfigValue& value, const std::string& path, const Range& range, bool& into) {
  if (value.kind != Kind::Boolean) return wrong_type(value, path, describe_type<bool>(range));
  into = value.text[0] == 't' || value.text[0] == 'T';
}

void ConfigReader::read(const ConfigValue& value, const std::string& path, const Range& range, double& into) {
  double number = 0;
  const bool numeric = value.kind == Kind::Integer || value.kind == Kind::Number;
  if (!numeric || !scalar_to_number(value.text, number) || number < range.min || number > range.max) {
    return wrong_type(value, path, describe_type<double>(range));
  }
  into = number;
}

void ConfigReader::read(const ConfigValue& value, const std::string& path, const Range& range, std::string& into) {
  if (value.kind == Kind::Text) {
    into = value.text;
    return;
  }
  const bool scalar = value.kind == Kind::Boolean || value.kind == Kind::Integer || value.kind == Kind::Number;
  wrong_type(value, path, describe_type<std::string>(range));
  if (scalar) problems_.back().what += fmt::format("; quote it: \"{}\"", value.text);
  if (value.kind == Kind::Null) problems_.back().what += "; the empty text is \"\"";
}

void ConfigReader::read(const ConfigValue& value, const std::string& path, const Range& range, Duration& into) {
  const auto duration = value.kind == Kind::Text ? text_to_duration(value.text) : std::nullopt;
  if (!duration) return wrong_type(value, path, describe_type<Duration>(range));
  into = *duration;
}

bool ConfigReader::read_integer(const ConfigValue& value, const std::string& path, const Range& range, int64_t low,
                                int64_t high, int64_t& into) {
  int64_t number = 0;
  if (value.kind == Kind::Integer && scalar_to_integer(value.text, number) && number >= low && number <= high &&
      within(number, range)) {
    into = number;
    return true;
  }
  wrong_type(value, path, describe_range("an integer", range, true));
  if (value.kind == Kind::Integer && !scalar_to_integer(value.text, number)) {
    problems_.back().what += ", which does not fit 64 bits";
  }
  return false;
}

}  // namespace weft
