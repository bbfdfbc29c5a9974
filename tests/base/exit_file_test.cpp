// SPDX-License-Identifier: Apache-2.0
#include "base/process/exit_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/files.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

TEST(ExitFile, KeepsTheFirstCodeAndWhy) {
  const Scratch scratch;
  const fs::path path = scratch / "exit";
  setenv("WEFT_EXIT_FILE", path.c_str(), 1);
  write_exit_file(0);
  EXPECT_FALSE(fs::exists(path));
  write_exit_file(2, "a key of the job is wrong");
  write_exit_file(143, "ended by another");
  EXPECT_EQ(read_file(path), "2\na key of the job is wrong\n");
  fs::remove(path);
  write_exit_file(75);
  EXPECT_EQ(read_file(path), "75\n");
  fs::remove(path);
  write_exit_file(3, std::string(10000, 'x'));
  EXPECT_EQ(read_file(path), "3\n" + std::string(4096, 'x') + "\n");
  setenv("WEFT_EXIT_FILE", (scratch / "nowhere" / "exit").c_str(), 1);
  write_exit_file(2);  // no such folder: nothing happens
  unsetenv("WEFT_EXIT_FILE");
  write_exit_file(2);
}

// The batch scripts make the file with its space before the run begins.
TEST(ExitFile, FileThatIsMadeBeforehandIsTaken) {
  const Scratch scratch;
  const fs::path path = scratch / "exit";
  setenv("WEFT_EXIT_FILE", path.c_str(), 1);
  scratch.write("exit.room", std::string(5000, '\n'));
  write_exit_file(3, "no space");
  EXPECT_EQ(read_file(path), "3\nno space\n");
  EXPECT_FALSE(fs::exists(scratch / "exit.room"));
  write_exit_file(143, "ended by another");
  EXPECT_EQ(read_file(path), "3\nno space\n");
  unsetenv("WEFT_EXIT_FILE");
}

TEST(ExitFile, FullDiskStillTellsTheReason) {
  const Scratch scratch;
  const ChildResult result = on_small_disk(scratch.path(), 16 << 10, [&] {
    const fs::path path = scratch / "exit";
    setenv("WEFT_EXIT_FILE", path.c_str(), 1);
    scratch.write("exit.room", std::string(5000, '\n'));
    fill_disk(scratch.path(), 0);
    write_exit_file(3, "no space");
    EXPECT_EQ(read_file(path), "3\nno space\n");
  });
  if (result == ChildResult::NoMount) GTEST_SKIP() << kNoMount;
  EXPECT_EQ(result, ChildResult::Passed);
}

}  // namespace
}  // namespace weft
