// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

TEST(Files, AtomicWriteReplacesAndLeavesNoTemporary) {
  const Scratch scratch;
  const fs::path path = scratch / "a.txt";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_FALSE(fs::exists(path.string() + ".tmp"));
}

TEST(Files, MissingFileNamesThePath) {
  try {
    read_file("/nonexistent/file");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/file: No such file"), std::string::npos) << error.what();
  }
}

TEST(Files, FullDeviceIsADataErrorWithTheReason) {
  File full("/dev/full", File::Mode::ReadWrite);
  try {
    full.write_at(0, "x", 1);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(Files, ShortFileIsNamedAsTruncated) {
  const Scratch scratch;
  const File file(scratch.write("short", "abc"), File::Mode::Read);
  char into[8];
  EXPECT_THROW(file.read_at(0, into, 8), DataError);
}

}  // namespace
}  // namespace weft
