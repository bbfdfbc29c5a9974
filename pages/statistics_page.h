// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/dataset/statistics.h"

namespace weft {

// A page about the texts of a dataset, of all its splits: docs/adding_a_dataset.md says what is in it. `name` is what
// the reader calls the dataset.
std::string statistics_page(const std::string& name, const std::vector<SplitStatistics>& splits);

}  // namespace weft
