// SPDX-License-Identifier: Apache-2.0
// File systems that lack what a save makes use of elsewhere: NFS, FUSE, some parallel ones.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <cerrno>

#include "tests/checkpoint/fixture.h"
#include "tests/support/refused_calls.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

// Saves a step, and saves it again over the first checkpoint.
void save_twice(const fs::path& directory) {
  const fs::path path = checkpoint_path(directory, 1);
  const auto saved_hash = [&](uint64_t seed) {
    save(directory, {2, 1}, 1, seed);
    verify_checkpoint(path, read_checkpoint_manifest(path));
    EXPECT_EQ(latest_valid(directory)->path(), path);
    return read_checkpoint_manifest(path).files[0].index.hash;
  };
  EXPECT_NE(saved_hash(1), saved_hash(2));
  std::vector<fs::path> there;
  for (const auto& entry : fs::directory_iterator(directory)) there.push_back(entry.path());
  EXPECT_THAT(there, testing::ElementsAre(path));
}

void expect_saves_without(const RefusedCall& call) {
  const Scratch scratch;
  const auto result = in_child([&] {
    EXPECT_TRUE(refuse(call));
    save_twice(scratch.path());
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}

TEST(PlainDisk, NeedsNoExchangeOfNames) {
  for (const uint32_t error : {EINVAL, ENOSYS}) expect_saves_without({.call = __NR_renameat2, .error = error});
}

TEST(PlainDisk, NeedsNoDirectWrites) {
  for (const uint32_t error : {EINVAL, EOPNOTSUPP}) {
    expect_saves_without({.call = __NR_openat, .error = error, .flags = O_DIRECT});
  }
}

TEST(PlainDisk, NeedsNoWritingBackOfRanges) {
  for (const uint32_t error : {ENOSYS, EINVAL, EOPNOTSUPP}) {
    expect_saves_without({.call = __NR_sync_file_range, .error = error});
  }
}

}  // namespace
}  // namespace weft
