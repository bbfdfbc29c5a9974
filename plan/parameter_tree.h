// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "job/job.h"

namespace weft {

// A job's model as a tree of its parameters' names, with shapes and counts of elements. The model is made without
// memory or data. Throws the ConfigError of planned_vocabularies().
std::string parameter_tree(const JobConfig& job);

}  // namespace weft
