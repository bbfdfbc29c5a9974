// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>

#include "base/config/fields.h"
#include "base/enum_table.h"

namespace weft {

// The splits of a dataset. Jobs, manifests and shards store their names; all other code uses the enum.
enum class DataSplit { Train, Valid, Test };
template <>
struct EnumNames<DataSplit> {
  static constexpr auto kNames = enum_names<DataSplit>("train", "valid", "test");
};

template <class T>
using BySplit = std::array<T, enum_size<DataSplit>()>;
inline constexpr BySplit<DataSplit> kSplits = [] {
  BySplit<DataSplit> splits{};
  for (size_t i = 0; i < splits.size(); ++i) splits[i] = EnumNames<DataSplit>::kNames[i].second;
  return splits;
}();

}  // namespace weft
