// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string_view>
#include <utility>

#include "base/config/fields.h"
#include "base/enum_table.h"

namespace weft {

// The parts of a dataset. Jobs, manifests and shards name them; everything else has the enum.
enum class DataSplit { Train, Valid, Test };
template <>
struct EnumNames<DataSplit> {
  static constexpr auto kNames = std::to_array<std::pair<std::string_view, DataSplit>>(
      {{"train", DataSplit::Train}, {"valid", DataSplit::Valid}, {"test", DataSplit::Test}});
};

template <class T>
using BySplit = std::array<T, enum_size<DataSplit>()>;
inline constexpr BySplit<DataSplit> kSplits = {DataSplit::Train, DataSplit::Valid, DataSplit::Test};

}  // namespace weft
