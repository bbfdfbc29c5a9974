#pragma once
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"

namespace weft {

// A directory of this test's own, gone at its end.
class Scratch {
 public:
  Scratch() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = fmt::format("weft_{}_{}_{}", info->test_suite_name(), info->name(), getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    path_ = fs::path(testing::TempDir()) / name;
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

  std::string write(const std::string& name, std::string_view bytes) const {
    write_file_atomically(path_ / name, bytes);
    return (path_ / name).string();
  }
  std::string write_gz(const std::string& name, std::string_view bytes) const {
    const std::string path = (path_ / name).string();
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }

 private:
  fs::path path_;
};

// What the error says, its hint in brackets; "no error" where none comes.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(error.what()) + (error.hint().empty() ? "" : " [" + error.hint() + "]");
  }
  return "no error";
}

}  // namespace weft
