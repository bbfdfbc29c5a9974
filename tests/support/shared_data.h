// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/source_dir.h"

namespace weft::test {

// A file of the test data that is not part of the project: in $WEFT_TEST_DATA, else in ../shared/data beside it.
inline std::filesystem::path shared_data(const std::string& name) {
  const char* folder = std::getenv("WEFT_TEST_DATA");
  const std::filesystem::path root = source_dir();
  return (folder != nullptr ? std::filesystem::path(folder) : root.parent_path() / "shared" / "data") / name;
}

inline bool has_shared_data(const std::string& name) { return std::filesystem::exists(shared_data(name)); }

}  // namespace weft::test
