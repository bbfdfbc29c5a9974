// SPDX-License-Identifier: Apache-2.0
// File systems that lack what a save makes use of elsewhere (NFS, FUSE, some parallel ones), or that fail for a moment.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <cerrno>

#include "checkpoint/retention.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/modes_bind_root.h"
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

// Of a server that answered late it is not known whether the names were exchanged.
TEST(FailingDisk, NamesAreExchangedOnceAtMost) {
  const Scratch scratch;
  const fs::path path = save(scratch.path(), {2, 1}, 1, 1);
  const uint64_t before = read_checkpoint_manifest(path).files[0].index.hash;
  const auto result = in_child([&] {
    EXPECT_TRUE(refuse({.call = __NR_renameat2, .error = EIO}));
    EXPECT_THROW(save(scratch.path(), {2, 1}, 1, 2), DataError);
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
  EXPECT_EQ(read_checkpoint_manifest(path).files[0].index.hash, before);
  verify_checkpoint(path, read_checkpoint_manifest(path));
}

TEST(FailingDisk, NothingIsClearedThatCannotBeLookedAt) {
  const Scratch scratch;
  const fs::path whole = save(scratch.path(), {1, 1}, 7, 1), left = whole.string() + ".tmp";
  fs::rename(whole, left);
  const auto result = in_child([&] {
    EXPECT_TRUE(refuse({.call = __NR_newfstatat, .error = EIO}));
    clear_unfinished(scratch.path());
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
  EXPECT_TRUE(fs::exists(left));
  clear_unfinished(scratch.path());
  EXPECT_TRUE(fs::exists(whole));
}

TEST(FailingDisk, NothingIsClearedThatMayNotBeRead) {
  const Scratch scratch;
  const fs::path whole = save(scratch.path(), {1, 1}, 7, 1), left = whole.string() + ".tmp";
  fs::rename(whole, left);
  fs::permissions(left / "manifest.json", fs::perms::none);
  const auto result = in_child([&] {
    let_modes_bind_root();
    clear_unfinished(scratch.path());
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
  EXPECT_TRUE(fs::exists(left / "manifest.json"));
}

TEST(FailingDisk, AMissingFileIsNoneThatCannotBeLookedAt) {
  const Scratch scratch;
  const fs::path path = save(scratch.path(), {1, 1}, 7, 1);
  const CheckpointManifest manifest = read_checkpoint_manifest(path);
  const auto result = in_child([&] {
    EXPECT_TRUE(refuse({.call = __NR_newfstatat, .error = EIO}));
    EXPECT_THROW(check_files(path, manifest), IoError);
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
  fs::remove(path / "rank-00000.h5");
  EXPECT_THAT(error_of<DataError>([&] { check_files(path, manifest); }),
              testing::HasSubstr("rank-00000.h5 is missing"));
}

TEST(PlainDisk, NeedsNoDirectWrites) {
  for (const uint32_t error : {EINVAL, EOPNOTSUPP}) {
    expect_saves_without({.call = __NR_openat, .error = error, .flags = O_DIRECT});
  }
}

// Writes back a range of a file where sync_file_range() gives this error: a part does so every 64 MiB.
ChildResult write_back_refused_with(uint32_t error) {
  const Scratch scratch;
  return in_child([&] {
    EXPECT_TRUE(refuse({.call = __NR_sync_file_range, .error = error}));
    File file(scratch / "part", File::Mode::New);
    file.append("written");
    if (error == EIO) {
      EXPECT_THROW(file.start_writing_back(0, 7), IoError);
    } else {
      file.start_writing_back(0, 7);
      file.finish_writing_back(0, 7);
    }
    return ChildResult::Passed;
  });
}

TEST(PlainDisk, NeedsNoWritingBackOfRanges) {
  for (const uint32_t error : {ENOSYS, EINVAL, EOPNOTSUPP, EIO}) {
    EXPECT_EQ(write_back_refused_with(error), ChildResult::Passed) << error;
  }
}

}  // namespace
}  // namespace weft
