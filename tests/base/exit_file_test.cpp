// SPDX-License-Identifier: Apache-2.0
#include "base/process/exit_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/files.h"
#include "tests/support/scratch.h"

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

}  // namespace
}  // namespace weft
