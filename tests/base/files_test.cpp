// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "tests/support/error_of.h"
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
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1);
}

TEST(Files, NoLinkIsFollowedWhenWriting) {
  const Scratch scratch;
  const fs::path theirs = scratch.write("theirs", "text");
  fs::create_symlink(theirs, scratch / "link");
  for (const auto mode : {File::Mode::Create, File::Mode::ReadWrite, File::Mode::New}) {
    const std::string error = error_of([&] { File(scratch / "link", mode); });
    EXPECT_NE(error.find((scratch / "link").string()), std::string::npos) << error;
  }
  EXPECT_EQ(read_file(theirs), "text");
  EXPECT_EQ(read_file(scratch / "link"), "text");
}

TEST(Files, AFolderThatCannotBeSyncedIsSaid) {
  const std::string error = error_of([] { sync_directory("/proc/self"); });  // has nothing to write
  EXPECT_NE(error.find("fsync /proc/self: "), std::string::npos) << error;
}

TEST(Files, MissingFileNamesThePath) {
  try {
    read_file("/nonexistent/file");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/file: No such file"), std::string::npos) << error.what();
  }
}

// The first page of a process' memory is never mapped, and reading it fails as a bad disk does.
TEST(Files, AMomentaryFailureIsTriedAgainAndThenToldApart) {
  const auto began = std::chrono::steady_clock::now();
  const File bad("/proc/self/mem", File::Mode::Read, std::chrono::milliseconds(120));
  char byte = 0;
  EXPECT_NE(error_of<IoError>([&] { bad.read_at(0, &byte, 1); }).find("/proc/self/mem: Input/output error"),
            std::string::npos);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(120));
  try {
    bad.read_at(0, &byte, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::Hardware);
  }
}

// Opening a socket's file fails as a device that is not there does.
TEST(Files, WhatWorksAgainAMomentLaterIsRead) {
  const Scratch scratch;
  const fs::path path = scratch / "a.txt", text = scratch.write("b.txt", "text");
  ASSERT_EQ(mknod(path.c_str(), S_IFSOCK | 0600, 0), 0);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    fs::rename(text, path);
  });
  const File file(path, File::Mode::Read);
  later.join();
  std::string bytes(4, ' ');
  file.read_at(0, bytes.data(), bytes.size());
  EXPECT_EQ(bytes, "text");
}

TEST(Files, WhatHasNoEndIsNotReadWhole) {
  const Scratch scratch;
  ASSERT_EQ(mkfifo((scratch / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of<DataError>([&] { read_file(scratch / "pipe"); }),
            (scratch / "pipe").string() + " is a pipe, not a file [name a regular file]");
  EXPECT_NE(error_of<DataError>([] { read_file("/dev/zero"); }).find("/dev/zero is a device"), std::string::npos);
  EXPECT_NE(error_of<DataError>([&] { read_file(scratch.path()); }).find("is a directory"), std::string::npos);
}

TEST(Files, AHugeFileIsRefusedBeforeMemoryIsTaken) {
  const Scratch scratch;
  const std::string path = scratch.write("sparse", "");
  fs::resize_file(path, uint64_t{1} << 40);
  EXPECT_NE(error_of<DataError>([&] { read_file(path); }).find(path + " has 1099511627776 bytes"), std::string::npos);
  fs::resize_file(path, 5);
  EXPECT_EQ(read_file(path, 5).size(), 5u);
  EXPECT_THROW(read_file(path, 4), DataError);
}

// What a user must mend is not tried again.
TEST(Files, AMissingFileIsNotTriedAgain) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THROW(read_file("/nonexistent"), DataError);
  EXPECT_LT(std::chrono::steady_clock::now() - began, File::kPatience / 2);
}

TEST(Files, FullDeviceIsADataErrorWithTheReason) {
  File full("/dev/full", File::Mode::ReadWrite);
  try {
    full.write_at(0, "x", 1);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos);
    EXPECT_FALSE(error.hint().empty());
    EXPECT_EQ(error.code(), ExitCode::BadData) << "a scheduler must not restart it";
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
