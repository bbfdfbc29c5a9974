// SPDX-License-Identifier: Apache-2.0
// A checkpoint part as it is stored on the disk.
#include "checkpoint/parts/part.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

std::vector<StoredArray> arrays() {
  std::vector<StoredArray> all;
  for (const int64_t elements : {3000, 5, 2048, 1 << 20}) {
    const std::string name = std::to_string(elements);
    all.push_back(
        {.buffer = "master",
         .stretches = {{.name = name, .shape = {elements}, .origin = {0}, .extent = {elements}, .end = elements}}});
  }
  return all;
}

// Large arrays bypass the system's page cache if they begin on a page, and take the ordinary way if they do not: both
// write the same file.
TEST(CheckpointPart, BytesDoNotDependOnHowTheyAreWritten) {
  const Scratch scratch;
  const size_t most = size_t{4} << 20, pages = most + 2 * DirectFile::kPage;
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(DirectFile::kPage, pages)), std::free);
  std::vector<std::string> files;
  for (const size_t begin : {size_t{0}, size_t{64}}) {
    for (size_t i = 0; i < most; ++i) memory.get()[begin + i] = static_cast<std::byte>(i * 7 % 253);
    const fs::path path = scratch.path() / std::to_string(begin);
    CheckpointPart part(path, arrays());
    for (size_t i = 0; i < arrays().size(); ++i) part.write(i, {memory.get() + begin, arrays()[i].bytes()});
    const CheckpointFile file = part.finish();
    EXPECT_EQ(file.bytes, fs::file_size(path));
    files.push_back(read_file(path));
  }
  EXPECT_TRUE(files[0] == files[1]);
  EXPECT_NE(files[0].find(std::string(reinterpret_cast<const char*>(memory.get()) + 64, 12000)), std::string::npos);
}

}  // namespace
}  // namespace weft
