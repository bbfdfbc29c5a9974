// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "base/error.h"

namespace weft {

// The reason why a record cannot be taken.
enum class BadRecord { NotJson, NoObject, NoField, NoString, Nul, TooFewColumns, Malformed, NotUtf8 };
template <>
struct EnumNames<BadRecord> {
  static constexpr auto kNames =
      enum_names<BadRecord>("not a line of JSON", "no JSON object", "without the field", "a field that is no string",
                            "a NUL byte", "too few columns", "not written as its format asks", "not valid UTF-8");
};

// The bad records that were left out.
struct SkippedRecords {
  std::map<std::string, int64_t> reasons;  // count by reason
  std::vector<std::string> first;          // messages of the first few, with file and line
  int64_t count() const {
    int64_t sum = 0;
    for (const auto& [reason, n] : reasons) sum += n;
    return sum;
  }

  template <class Archive>
  void archive(Archive& a) {
    a(reasons), a(first);
  }
};

class BadRecordError : public DataError {
 public:
  BadRecordError(BadRecord reason, const std::string& what, std::string hint = {})
      : DataError(what, std::move(hint)), reason_(reason) {}
  BadRecord reason() const { return reason_; }

 private:
  BadRecord reason_;
};

// Handles bad records: the first one ends the preparation, or all are left out and counted.
class BadRecords {
 public:
  explicit BadRecords(bool skip) : skip_(skip) {}
  // Counts the record, or rethrows its error if bad records are not skipped.
  void meet(const BadRecordError& error);
  void add(const SkippedRecords& more);
  void clear() { skipped_ = {}; }
  const SkippedRecords& skipped() const { return skipped_; }
  // DataError if the share of records that were left out is above `most`. `good`: the number of all other records.
  void check_share(int64_t good, double most) const;

  template <class Archive>
  void archive(Archive& a) {
    a(skipped_);
  }

 private:
  bool skip_;
  SkippedRecords skipped_;
};

// Bytes of the input as a message shows them: 40 at most, with control characters replaced.
std::string excerpt(std::string_view text);

}  // namespace weft
