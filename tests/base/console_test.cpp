// SPDX-License-Identifier: Apache-2.0
// A console that takes no text keeps nobody waiting.
#include "base/process/console.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <regex>
#include <string>
#include <utility>

namespace weft {
namespace {

using std::chrono::milliseconds;

// A pipe that is full until somebody reads it.
class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    fcntl(ends_[1], F_SETPIPE_SZ, 4096);
    const std::string page(static_cast<size_t>(fcntl(ends_[1], F_GETPIPE_SZ)), 'x');
    EXPECT_EQ(write(ends_[1], page.data(), page.size()), static_cast<ssize_t>(page.size()));
    filled_ = page.size();
  }
  ~FullPipe() {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;

  int in() const { return ends_[1]; }
  // What was written after the pipe was full, up to its end.
  std::future<std::string> read_all() {
    return std::async(std::launch::async, [this] {
      std::string all;
      std::array<char, 4096> piece{};
      for (ssize_t n; (n = read(ends_[0], piece.data(), piece.size())) > 0;) all.append(piece.data(), n);
      return all.substr(filled_);
    });
  }
  void close_in() { close(std::exchange(ends_[1], -1)); }

 private:
  std::array<int, 2> ends_{-1, -1};
  size_t filled_ = 0;
};

// What a console writes of `fill`, which it is given while nobody reads, without the times of its lines.
template <class F>
std::string written_later(F&& fill) {
  FullPipe pipe;
  std::future<std::string> text;
  {
    Console console(pipe.in());
    console.write_in_background();
    console.write(ConsoleText::Line, "first\n");
    EXPECT_FALSE(console.flush(milliseconds(50)));  // the thread has taken the first line and is stuck in it
    fill(console);
    text = pipe.read_all();
    EXPECT_TRUE(console.flush(std::chrono::minutes(1)));
  }
  pipe.close_in();
  return std::regex_replace(text.get(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ )"), "@");
}

TEST(Console, NobodyWaitsForItInTheBackground) {
  EXPECT_EQ(written_later([](Console& console) {
              for (int i = 0; i < 3; ++i) EXPECT_TRUE(console.write(ConsoleText::Line, fmt::format("line {}\n", i)));
            }),
            "@first\n@line 0\n@line 1\n@line 2\n");
}

TEST(Console, OnlyTheNewestStateIsWritten) {
  EXPECT_EQ(written_later([](Console& console) {
              for (int i = 0; i < 5000; ++i) console.write(ConsoleText::State, fmt::format("\rstep {}", i));
              console.write(ConsoleText::StateEnd, "\n");
            }),
            "@first\n\rstep 4999\n");
}

TEST(Console, AFullQueueDropsItsOldestLinesAndSaysHowMany) {
  const int most = Console::kMostQueued;
  const std::string text = written_later([&](Console& console) {
    console.write(ConsoleText::Problem, "an error\n");
    for (int i = 0; i < most + 6; ++i) console.write(ConsoleText::Line, fmt::format("line {}\n", i));
  });
  const std::string begin = "@first\n(7 lines left out: this console took no text)\n@an error\n@line 7\n";
  EXPECT_EQ(text.substr(0, begin.size()), begin);
  EXPECT_TRUE(text.ends_with(fmt::format("@line {}\n", most + 5)));
}

TEST(Console, IsGivenUpAtTheEnd) {
  FullPipe pipe;
  const auto began = std::chrono::steady_clock::now();
  {
    Console console(pipe.in());
    console.write_in_background();
    console.write(ConsoleText::Problem, "nobody reads this\n");
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, Console::kLastWords);
  std::future<std::string> text = pipe.read_all();  // the thread that was left alone continues
  pipe.close_in();
  EXPECT_TRUE(text.get().ends_with("nobody reads this\n"));
}

TEST(Console, AFailedWriteIsNoticedAtTheNextOne) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  Console console(full);
  EXPECT_FALSE(console.write(ConsoleText::Line, "text\n"));
  console.write_in_background();
  EXPECT_TRUE(console.write(ConsoleText::Line, "text\n"));
  EXPECT_TRUE(console.flush(std::chrono::minutes(1)));
  EXPECT_FALSE(console.write(ConsoleText::Line, "text\n"));
  EXPECT_TRUE(console.flush(std::chrono::minutes(1)));
  close(full);
}

}  // namespace
}  // namespace weft
