// SPDX-License-Identifier: Apache-2.0
#include "data/text/bad_records.h"

#include <algorithm>

namespace weft {

namespace {
constexpr size_t kFirst = 5;  // bad records that are remembered with their places
constexpr const char* kSkip = "data.bad_records: skip leaves such records out, and counts them";
}  // namespace

void BadRecords::meet(const BadRecordError& error) {
  if (!skip_) {
    throw BadRecordError(error.reason(), error.what(),
                         fmt::format("{}{}{}", error.hint(), error.hint().empty() ? "" : "; ", kSkip));
  }
  add({.reasons = {{std::string(enum_name(error.reason())), 1}}, .first = {error.what()}});
}

void BadRecords::add(const SkippedRecords& more) {
  for (const auto& [reason, count] : more.reasons) skipped_.reasons[reason] += count;
  const size_t room = kFirst - std::min(kFirst, skipped_.first.size());
  const auto end = more.first.begin() + static_cast<ptrdiff_t>(std::min(room, more.first.size()));
  skipped_.first.insert(skipped_.first.end(), more.first.begin(), end);
}

void BadRecords::check_share(int64_t good, double most) const {
  const int64_t bad = skipped_.count();
  if (bad == 0) return;
  const double share = double(bad) / double(bad + good);
  if (share <= most) return;
  throw DataError(
      fmt::format("{} of {} records cannot be taken ({:.2f} %), more than the {:.2f} % that max_bad_fraction "
                  "allows; the first: {}",
                  bad, bad + good, 100 * share, 100 * most, skipped_.first.front()),
      "check the format and the fields of the data section, or raise max_bad_fraction");
}

std::string excerpt(std::string_view text) {
  size_t most = std::min<size_t>(text.size(), 40);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  while (most > 0 && most < text.size() && continues(text[most])) --most;  // does not cut a character
  std::string shown(text.substr(0, most));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return most < text.size() ? shown + "..." : shown;
}

}  // namespace weft
