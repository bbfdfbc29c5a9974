// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/job.h"
#include "tests/support/source_dir.h"

namespace weft::test {

// The job of configs/`name` before its dataset exists.
inline JobConfig unprepared_job(const std::string& name, std::vector<std::string> overrides = {}) {
  overrides.emplace_back("data.directory=no-such-directory");
  return load_job((source_dir() / "configs" / name).string(), overrides);
}

}  // namespace weft::test
