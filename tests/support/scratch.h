// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"

namespace weft::test {

// A directory for one test, deleted at its end. Its name is new, whatever other runs, users or kills have left.
class Scratch {
 public:
  Scratch() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = fmt::format("weft_{}_{}_XXXXXX", info->test_suite_name(), info->name());
    std::replace(name.begin(), name.end(), '/', '_');
    std::string pattern = (fs::path(testing::TempDir()) / name).string();
    require<DataError>(mkdtemp(pattern.data()) != nullptr, "{}: cannot be made", pattern);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

  std::string write(const std::string& name, std::string_view bytes) const {
    write_file_atomically(path_ / name, bytes);
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

}  // namespace weft::test
