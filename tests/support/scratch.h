// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/files.h"
#include "tests/support/folder.h"

namespace weft::test {

// A directory for one test, named after it.
class Scratch {
 public:
  fs::path operator/(const std::string& name) const { return path() / name; }
  const fs::path& path() const { return folder_.path(); }

  std::string write(const std::string& name, std::string_view bytes) const {
    write_file_atomically(path() / name, bytes);
    return (path() / name).string();
  }

 private:
  static std::string name() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = fmt::format("weft_{}_{}", info->test_suite_name(), info->name());
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
  }
  Folder folder_{testing::TempDir(), name()};
};

}  // namespace weft::test
