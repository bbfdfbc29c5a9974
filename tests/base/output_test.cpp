// SPDX-License-Identifier: Apache-2.0
// Lines stay whole where several processes share a console: each is inside one write(2).
#include "base/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>

#include <cerrno>
#include <thread>

#include "base/log.h"
#include "base/progress.h"
#include "tests/support/error_of.h"
#include "tests/support/writes.h"

namespace weft {
namespace {

using test::writes_to;
using Texts = std::vector<std::string>;

Texts written(const std::string& text) {
  return writes_to(STDERR_FILENO, [&] { EXPECT_TRUE(write_lines(STDERR_FILENO, text)); });
}

TEST(Printable, ControlCharactersAreSpeltOut) {
  EXPECT_EQ(printable("plain\ttext\n\u00e9\u4e2d\U0001f600"), "plain\ttext\n\u00e9\u4e2d\U0001f600");
  EXPECT_EQ(printable("\x1b]52;c;cm0gLXJm\x07"), "\\x1b]52;c;cm0gLXJm\\x07");
  EXPECT_EQ(printable(std::string("a\rb\0c\x7f", 6)), "a\\x0db\\x00c\\x7f");
  EXPECT_EQ(printable("\u009b31m"), "\\xc2\\x9b31m");                                  // C1's CSI
  EXPECT_EQ(printable("\x9b\xe4\xb8"), "\\x9b\\xe4\\xb8");                             // not UTF-8
  EXPECT_EQ(printable("\xe0\x82\x9b\xed\xa0\x80"), "\\xe0\\x82\\x9b\\xed\\xa0\\x80");  // an overlong CSI, a surrogate
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, LogsAndProgressAre) {
  const Texts texts = writes_to(STDERR_FILENO, [] {
    log_warning("a model says {}", "\x1b[2J");
    Progress(true, 0).show("step 1 \x1b[2J", true);
  });
  for (const std::string& text : texts) EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(texts.size(), 2u);
}

TEST(WriteLines, LinesThatFitAreOneWrite) {
  EXPECT_EQ(written("one\ntwo\n"), Texts{"one\ntwo\n"});
  EXPECT_EQ(written("no end"), Texts{"no end"});
  const std::string full = std::string(PIPE_BUF - 1, 'x') + "\n";
  EXPECT_EQ(written(full), Texts{full});
  EXPECT_EQ(written(""), Texts{});
}

TEST(WriteLines, MoreThanAPipeKeepsWholeIsCutBetweenLines) {
  const std::string most(PIPE_BUF - 3, 'a');
  EXPECT_EQ(written(most + "\n\n\nb\n"), (Texts{most + "\n\n\n", "b\n"}));
  EXPECT_EQ(written(most + "\nbb\nc\n"), (Texts{most + "\n", "bb\nc\n"}));
  EXPECT_EQ(written("first\n" + most + "\nlast"), (Texts{"first\n", most + "\n", "last"}));
}

TEST(WriteLines, ALineLongerThanAPipeKeepsWholeIsAWriteOfItsOwn) {
  const std::string line(3 * PIPE_BUF, 'x');
  EXPECT_EQ(written("before\n" + line + "\nafter\n"), (Texts{"before\n", line + "\n", "after\n"}));
  EXPECT_EQ(written(line), Texts{line});
}

TEST(WriteLines, APipeThatIsFullAndDoesNotBlockIsWaitedFor) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const size_t size = 4 * static_cast<size_t>(fcntl(ends[1], F_GETPIPE_SZ));
  std::string text, read_back;
  while (text.size() < size) text += std::to_string(text.size()) + "\n";
  std::thread writer([&, out = ends[1]] {
    EXPECT_TRUE(write_lines(out, text));
    close(out);
  });
  fcntl(ends[0], F_SETFL, 0);
  char piece[1000];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;) read_back.append(piece, static_cast<size_t>(n));
  writer.join();
  close(ends[0]);
  EXPECT_EQ(read_back, text);
}

TEST(WriteLines, AFullDiskIsReported) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  EXPECT_FALSE(write_lines(full, "text\n"));
  EXPECT_EQ(errno, ENOSPC);
  close(full);
}

TEST(Print, AFullDiskIsADataError) {
  const int kept = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
  fflush(stdout);
  dup2(full, STDOUT_FILENO);
  const std::string error = test::error_of([] { print("text\n"); });
  dup2(kept, STDOUT_FILENO);
  close(kept), close(full);
  EXPECT_NE(error.find("write standard output: No space left on device"), std::string::npos) << error;
}

TEST(Log, AMessageIsOneWriteAlsoBeforeTheLogIsSetUp) {
  const Texts expected = {"bare\n", "warning: two\n  lines\n", "error: 3\n"};
  EXPECT_EQ(writes_to(STDERR_FILENO,
                      [] {
                        log_info("bare");
                        log_warning("two\n  lines");
                        log_error("{}", 3);
                      }),
            expected);
}

TEST(Log, OtherRanksTagTheirProblemsInTheSameWrite) {
  const Texts lines = writes_to(STDERR_FILENO, [] {
    start_logging(3, 4);
    log_info("not from this rank");
    log_warning("slow");
  });
  start_logging(0, 1);
  EXPECT_EQ(lines, Texts{fmt::format("[rank 3 {}] warning: slow\n", host_name())});
}

TEST(Progress, ALineIsOneWrite) {
  EXPECT_EQ(writes_to(STDERR_FILENO,
                      [] {
                        Progress progress(true, 0);
                        progress.show("step 1/2");
                        progress.show("step 2/2", true);
                      }),
            (Texts{"step 1/2\n", "step 2/2\n"}));
}

TEST(Progress, AConsoleThatTakesNoMoreIsLost) {
  const int kept = dup(STDERR_FILENO), full = open("/dev/full", O_WRONLY);
  dup2(full, STDERR_FILENO);
  Progress progress(true, 0);
  EXPECT_FALSE(progress.lost());
  progress.show("step 1/2");
  dup2(kept, STDERR_FILENO);
  close(kept), close(full);
  EXPECT_TRUE(progress.lost());
}

}  // namespace
}  // namespace weft
