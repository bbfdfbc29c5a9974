// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/source_dir.h"

namespace weft::test {

// The path of a published file that some tests read, and that is not part of the project (docs/installation.md lists
// them): in $WEFT_TEST_DATA, else in shared/data beside the sources.
inline std::filesystem::path shared_data(const std::string& name) {
  const char* folder = std::getenv("WEFT_TEST_DATA");
  const std::filesystem::path root = source_dir();
  return (folder != nullptr ? std::filesystem::path(folder) : root.parent_path() / "shared" / "data") / name;
}

inline bool has_shared_data(const std::string& name) { return std::filesystem::exists(shared_data(name)); }

// The reason why a test skips without this file.
inline std::string needs(const std::string& name) {
  return "needs " + shared_data(name).string() + " (WEFT_TEST_DATA; docs/installation.md)";
}

}  // namespace weft::test
