// SPDX-License-Identifier: Apache-2.0
#include "base/direct_file.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

constexpr size_t kPage = DirectFile::kPage;

// A scratch directory, and three pages of bytes that begin on a page.
class DirectFiles : public testing::Test {
 protected:
  DirectFiles() : bytes_(static_cast<std::byte*>(std::aligned_alloc(kPage, 3 * kPage)), std::free) {
    for (size_t i = 0; i < 3 * kPage; ++i) bytes_.get()[i] = static_cast<std::byte>(i % 251);
  }
  std::string text(size_t begin, size_t end) const {
    return {reinterpret_cast<const char*>(bytes_.get()) + begin, reinterpret_cast<const char*>(bytes_.get()) + end};
  }

  const Scratch scratch_;
  const std::unique_ptr<std::byte, decltype(&std::free)> bytes_;
};

// All whole pages are written or, if the file system does not support direct writes, none.
TEST_F(DirectFiles, WritesWholePagesAndLeavesTheRest) {
  const fs::path path = scratch_.write("file", std::string(4 * kPage, 'x'));
  const size_t taken = DirectFile(path).write_at(kPage, bytes_.get(), 2 * kPage + 100);
  EXPECT_TRUE(taken == 2 * kPage || taken == 0) << taken;
  EXPECT_EQ(read_file(path), std::string(kPage, 'x') + text(0, taken) + std::string(3 * kPage - taken, 'x'));
}

TEST_F(DirectFiles, TakesNothingThatDoesNotBeginOnAPage) {
  const std::string before(4 * kPage, 'x');
  const fs::path path = scratch_.write("file", before);
  DirectFile file(path);
  EXPECT_EQ(file.write_at(512, bytes_.get(), 2 * kPage), 0u);
  EXPECT_EQ(file.write_at(0, bytes_.get() + 64, 2 * kPage), 0u);
  EXPECT_EQ(file.write_at(0, bytes_.get(), kPage - 1), 0u);
  EXPECT_EQ(read_file(path), before);
}

// Bytes that an ordinary write wrote before stay, even if they are not on the disk yet.
TEST_F(DirectFiles, AgreesWithOrdinaryWrites) {
  const fs::path path = scratch_.path() / "file";
  File file(path, File::Mode::Create);
  const std::string head = "head", tail = "tail";
  file.write_at(0, head.data(), head.size());
  file.write_at(2 * kPage, tail.data(), tail.size());
  const size_t taken = DirectFile(path).write_at(kPage, bytes_.get(), kPage);
  EXPECT_EQ(read_file(path),
            head + std::string(kPage - 4, '\0') + text(0, taken) + std::string(kPage - taken, '\0') + tail);
}

// A direct write to a full disk takes no bytes: the ordinary write after it reports the error.
TEST_F(DirectFiles, LeavesAFullDiskToOrdinaryWrites) {
  EXPECT_EQ(DirectFile("/dev/full").write_at(0, bytes_.get(), kPage), 0u);
}

TEST_F(DirectFiles, AMissingFileIsAnErrorWithThePath) {
  EXPECT_THAT(error_of([] { const DirectFile file("/nonexistent/file"); }), testing::HasSubstr("/nonexistent/file"));
}

}  // namespace
}  // namespace weft
