// SPDX-License-Identifier: Apache-2.0
// What happens where the system gives no thread.
#include "base/process/new_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/error.h"
#include "base/process/console.h"
#include "base/process/task_thread.h"
#include "tests/support/error_of.h"
#include "tests/support/no_threads.h"

namespace weft {
namespace {

using test::error_of;

TEST(NewThread, ALackOfThemIsMomentary) {
  const test::NoThreads none;
  try {
    new_thread([] {}).join();
    FAIL() << "there is a thread";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::Hardware);
  }
  EXPECT_THAT(error_of([] { TaskThread{}; }), testing::HasSubstr("this node gives no further thread: Resource"));
}

TEST(NewThread, AConsoleWithoutOneWritesAtOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    Console console(ends[1]);
    {
      const test::NoThreads none;
      EXPECT_THROW(console.write_in_background(), Error);
    }
    EXPECT_TRUE(console.write(ConsoleText::Line, "a line\n"));
    std::array<char, 20> text{};
    EXPECT_EQ(read(ends[0], text.data(), text.size()), 7);
    EXPECT_STREQ(text.data(), "a line\n");
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace weft
