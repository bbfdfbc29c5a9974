// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/files.h"

namespace weft {

// A job that comes with weft: configs/sample/translation.yaml is named sample-translation.
struct ShippedJob {
  std::string name;
  std::string purpose;  // the first line of its file, a comment
  fs::path file;
};

// The folder configs/ that comes with the program `program`: a build folder has share/weft beside the program, an
// installation has it where cmake --install put it, seen from the program. DataError if neither is there.
fs::path shipped_configs(const fs::path& program);

// All jobs below `configs` by name, without the parts of jobs in configs/shared.
std::vector<ShippedJob> shipped_jobs(const fs::path& configs);

// ConfigError with the nearest name if there is no such job.
ShippedJob find_shipped_job(const fs::path& configs, const std::string& name);

// The text of a job for a file in any folder, with its comments. What it refers to stays where it is: the paths after
// `extends` and those that begin with configs/ become absolute if there is such a file. All other paths, such as those
// of datasets and runs, stay relative to the folder in which weft is started.
std::string copy_of(const ShippedJob& job, const fs::path& configs);

}  // namespace weft
