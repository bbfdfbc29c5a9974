// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <regex>
#include <thread>

#include "base/files.h"
#include "data/text/text_input.h"
#include "tests/support/error_of.h"
#include "tests/support/gzip.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& path) {
  TextInput input{TextFile(path)};
  std::vector<std::string> lines;
  for (std::string_view line; input.next_line(line);) lines.emplace_back(line);
  EXPECT_EQ(input.consumed(), fs::file_size(path));
  return lines;
}

std::string many_lines() {
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += fmt::format("line {}\n", i * 7919 % 5000);
  return lines;
}

// The writer waits until the line is read, so nothing may be read beyond the line, however it begins.
TEST(CompressedText, ALineIsReadAsSoonAsItIsWritten) {
  const Scratch scratch;
  const std::string pipe = (scratch / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string first : {"", "hi", "P", "Pk", "(", "BZ", "BZh9", "\xEF", "\xFD"}) {
    std::promise<void> read;
    std::thread writer([&] {
      std::ofstream out(pipe);
      out << first << "\n" << std::flush;
      read.get_future().wait();
      out << "next\n";
    });
    TextInput input{TextFile(pipe)};
    std::string_view line;
    EXPECT_TRUE(input.next_line(line));
    EXPECT_EQ(line, first);
    read.set_value();
    EXPECT_TRUE(input.next_line(line));
    EXPECT_EQ(line, "next");
    writer.join();
  }
}

TEST(CompressedText, GzipOfSeveralMembersIsOneText) {
  const Scratch scratch;
  const std::string first = read_file(write_gz(scratch, "1.gz", "one\nt"));
  const std::string second = read_file(write_gz(scratch, "2.gz", "wo\n"));
  EXPECT_THAT(lines_of(scratch.write("both.gz", first + second)), ElementsAre("one", "two"));
}

TEST(CompressedText, TruncatedGzipIsAnErrorWhereverItIsCut) {
  const Scratch scratch;
  const std::string whole = read_file(write_gz(scratch, "a.gz", many_lines()));
  for (const size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{5}, size_t{12}, whole.size() / 2, whole.size() - 9,
                            whole.size() - 8, whole.size() - 1}) {
    const std::string cut = scratch.write("cut.gz", whole.substr(0, size));
    EXPECT_THAT(error_of([&] { lines_of(cut); }), HasSubstr("cut.gz: ")) << size;
  }
  const std::string cut = scratch.write("cut.gz", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(error_of([&] { lines_of(cut); }), HasSubstr("cut.gz: the gzip file is truncated after line "));
}

TEST(CompressedText, DamagedGzipIsAnError) {
  const Scratch scratch;
  std::string whole = read_file(write_gz(scratch, "a.gz", std::string(100'000, 'a') + "b"));
  whole[whole.size() - 6] ^= 1;  // the checksum of the text
  const std::string damaged = scratch.write("b.gz", whole);
  EXPECT_THAT(error_of([&] { lines_of(damaged); }), HasSubstr("b.gz: cannot be read"));
}

// The bytes after a member must be a member: otherwise a damaged archive would end early without an error.
TEST(CompressedText, ADamagedSecondMemberIsAnError) {
  const Scratch scratch;
  const std::string first = read_file(write_gz(scratch, "1.gz", "one\n"));
  const std::string second = read_file(write_gz(scratch, "2.gz", many_lines()));
  for (size_t byte = 0; byte < 3; ++byte) {
    std::string damaged = second;
    damaged[byte] ^= 1;
    const std::string both = scratch.write("both.gz", first + damaged);
    EXPECT_THAT(error_of([&] { lines_of(both); }), HasSubstr("both.gz: cannot be read: the gzip file is damaged"))
        << byte;
  }
  const std::string behind = scratch.write("behind.gz", first + "and more");
  EXPECT_THAT(error_of([&] { lines_of(behind); }), HasSubstr("behind.gz: cannot be read"));
  const std::string begun = scratch.write("begun.gz", first + second.substr(0, 1));
  EXPECT_THAT(error_of([&] { lines_of(begun); }), HasSubstr("begun.gz: the gzip file is truncated"));
}

TEST(CompressedText, PlainTextNamedAsIfCompressedIsAnError) {
  const Scratch scratch;
  const std::string gz = scratch.write("a.gz", "one\n"), zst = scratch.write("a.zst", "one\n");
  EXPECT_THAT(error_of([&] { lines_of(gz); }), HasSubstr("a.gz: not a gzip file"));
  EXPECT_THAT(error_of([&] { lines_of(zst); }), HasSubstr("a.zst: not a zstd file"));
}

TEST(CompressedText, OtherCompressionsAreNamed) {
  const Scratch scratch;
  const std::pair<const char*, std::string> files[] = {{"xz", std::string("\xFD"
                                                                          "7zXZ\0\0\4",
                                                                          8)},
                                                       {"bzip2", "BZh91AY&SY\x12\x34"},
                                                       {"lz4", "\x04\x22\x4D\x18 more"},
                                                       {"zip", "PK\x03\x04 more"}};
  for (const auto& [name, bytes] : files) {
    const std::string file = scratch.write(name, bytes);
    EXPECT_THAT(error_of([&] { lines_of(file); }),
                AllOf(HasSubstr(fmt::format("compressed with {}", name)), HasSubstr("decompress it first")));
  }
  EXPECT_THAT(lines_of(scratch.write("text", "BZh is how they begin\nPK\n")),
              ElementsAre("BZh is how they begin", "PK"));
}

TEST(CompressedText, ParquetIsNamedWithTheCommandThatConvertsIt) {
  const Scratch scratch;
  const std::string file = scratch.write("web.parquet", "PAR1\x15\x04\x15\x30PAR1");
  std::string hint;
  try {
    lines_of(file);
    ADD_FAILURE() << "it was read";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("web.parquet: a Parquet file, not text"));
    hint = error.hint();
  }
  const size_t at = hint.find("python3 -c");
  ASSERT_NE(at, std::string::npos) << hint;
  const std::string command = std::regex_replace(hint.substr(at), std::regex("FILE"), "chats");
  EXPECT_THAT(read_file(source_dir() / "docs/adding_a_dataset.md"), HasSubstr(command + "\n"));
  EXPECT_THAT(lines_of(scratch.write("text", "PAR1 is how they begin\n")), ElementsAre("PAR1 is how they begin"));
}

// Found by a fuzzer: "BZh" alone ended the program.
TEST(CompressedText, WhatEndsWithinAMarkIsText) {
  const Scratch scratch;
  for (const std::string mark : {"BZh91AY&SY", "PK\x03\x04", "\x04\x22\x4D\x18", "PAR1\x15",
                                 "\xFD"
                                 "7zXZ"}) {
    for (size_t bytes = 1; bytes < mark.size(); ++bytes) {
      EXPECT_THAT(lines_of(scratch.write("text", mark.substr(0, bytes))), ElementsAre(mark.substr(0, bytes)));
    }
  }
}

TEST(CompressedText, ByteOrderMarkIsLeftOutOfCompressedTextToo) {
  const Scratch scratch;
  EXPECT_THAT(lines_of(write_gz(scratch, "a.gz", "\xEF\xBB\xBFone")), ElementsAre("one"));
}

}  // namespace
}  // namespace weft
