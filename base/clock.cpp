// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <fmt/chrono.h>

#include <charconv>
#include <ctime>

namespace weft {
namespace {

// The number whose digits begin at `at`; -1 for anything else.
int digits_at(std::string_view text, size_t at, size_t count) {
  int value = -1;
  const char* const end = text.data() + at + count;
  const auto [stop, error] = std::from_chars(text.data() + at, end, value);
  return error == std::errc() && stop == end && value >= 0 ? value : -1;
}

}  // namespace

std::string utc_time() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

std::optional<int64_t> seconds_of_utc(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] != '0' && text[i] != kForm[i]) return std::nullopt;
  }
  const int year = digits_at(text, 0, 4), month = digits_at(text, 5, 2), day = digits_at(text, 8, 2);
  const int hour = digits_at(text, 11, 2), minute = digits_at(text, 14, 2), second = digits_at(text, 17, 2);
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  const bool in_range =
      year >= 0 && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second <= 60;
  if (!date.ok() || !in_range) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

}  // namespace weft
