// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/config/value.h"

// Keys that had another name in an earlier version. In stored jobs (checkpoints, datasets) they are read under their
// new names; in a file that a user writes they are errors that state the new name.
namespace weft {

struct RenamedKey {
  using ValuePair = std::pair<std::string_view, std::string_view>;

  std::string_view before;  // dotted: "batch.last"
  std::string_view now;     // in the same section: "batch.drop_last"
  // Values that changed with the name, {before, now} as YAML scalars: {"drop", "true"}. All others stay as they are.
  std::span<const ValuePair> values = {};
};
using RenamedKeys = std::span<const RenamedKey>;

// The name that `key`, or the section that it lies in, has now; nothing if it was not renamed.
std::optional<std::string> renamed_key(RenamedKeys keys, std::string_view key);

// Gives every old key in `root` its new name and value.
void rename_keys(RenamedKeys keys, ConfigValue& root);

// Also returns a problem for each: "parallel.bucket_mib was renamed: write parallel.gradient_bucket_mib".
void refuse_renamed_keys(RenamedKeys keys, ConfigValue& root, ConfigProblems& problems);

}  // namespace weft
