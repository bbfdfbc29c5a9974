// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "base/enum_table.h"

namespace weft {

// The parts of a dataset.
enum class DataSplit { Train, Valid, Test };
template <class T>
using BySplit = std::array<T, enum_size<DataSplit>()>;

}  // namespace weft
