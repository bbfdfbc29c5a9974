// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/source_dir.h"

namespace weft::test {

// A published file that some tests compare with, and that is not part of the project (docs/installation.md lists them):
// in $WEFT_TEST_DATA, else in shared/data beside the sources.
inline std::filesystem::path shared_data(const std::string& name) {
  const char* folder = std::getenv("WEFT_TEST_DATA");
  const std::filesystem::path root = source_dir();
  return (folder != nullptr ? std::filesystem::path(folder) : root.parent_path() / "shared" / "data") / name;
}

inline bool has_shared_data(const std::string& name) { return std::filesystem::exists(shared_data(name)); }

// Why a test skips where there is no such file.
inline std::string needs(const std::string& name) {
  return "needs " + shared_data(name).string() + " (WEFT_TEST_DATA; docs/installation.md)";
}

}  // namespace weft::test
