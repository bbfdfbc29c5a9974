// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/files.h"

namespace weft {

// The datasets, runs and single checkpoints in a folder, down to three levels below it: a line for each with its path,
// kind and size, and for a run the step of its newest checkpoint. One that cannot be read has the reason in its line.
// Empty if the folder holds none. Hidden folders, and what lies in a dataset or run, are not looked at.
std::string describe_contents(const fs::path& folder);

}  // namespace weft
