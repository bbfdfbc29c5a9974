// SPDX-License-Identifier: Apache-2.0
// Shards that are damaged, or not what their manifest says.
#include <gmock/gmock.h>

#include <algorithm>

#include "data/dataset/inspect.h"
#include "tests/data/dataset/readers.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

// One flipped bit in every third byte and in every byte of a token: opening or reading reports the damage.
TEST(DatasetOpen, NoFlippedBitIsAccepted) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 256}.pairs({{{1, 2}, {3}}, {{4}, {5, 6, 7}}});
  const Manifest manifest = read_manifest(scratch.path());
  const ShardEntry shard = manifest.splits.at(DataSplit::Train).shards.at(0);
  const std::string whole = read_file(scratch / shard.file);
  const auto is_token = [&](size_t at) {
    const auto in = [&](const ShardTokens& t) {
      return at >= t.offset && at < t.offset + static_cast<uint64_t>(t.count) * 2;
    };
    return in(shard.source) || in(shard.target);
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    if (at % 3 != 0 && !is_token(at)) continue;
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    File(scratch / shard.file, File::Mode::ReadWrite).write_at(0, damaged.data(), damaged.size());
    EXPECT_THAT(error_of([&] { read_pairs(Dataset::open(scratch.path(), DataSplit::Train)); }), HasSubstr("is damaged"))
        << at;
  }
}

// A stream of three blocks of ids, of which a bit is flipped in the last.
struct DamagedBlock : testing::Test {
  DamagedBlock() {
    DatasetBuilder{.directory = scratch.path(), .vocabulary = 60000, .shard_tokens = 3 * kBlockIds}.stream(
        {Ids(2 * kBlockIds + 10, 7)});
    const ShardEntry shard = read_manifest(scratch.path()).splits.at(DataSplit::Train).shards.at(0);
    const uint16_t other = 8;
    File(scratch / shard.file, File::Mode::ReadWrite).write_at(shard.source.offset + 2 * kDamaged, &other, 2);
  }
  static constexpr int64_t kBlockIds = kChecksumBlockBytes / 2, kDamaged = 2 * kBlockIds + 3;
  const Scratch scratch;
};

TEST_F(DamagedBlock, IsFoundWhereverItIsRead) {
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_EQ(tokens(dataset, 2 * kBlockIds - 5, 5), Ids(5, 7));
  for (const auto& [first, count] : {std::pair{2 * kBlockIds, 1}, {2 * kBlockIds + 9, 1}, {2 * kBlockIds - 1, 2}}) {
    EXPECT_THAT(error_of([&, f = first, n = count] { tokens(dataset, f, n); }),
                AllOf(HasSubstr("train-00000.h5 is damaged: bytes "), HasSubstr("do not fit their checksum")))
        << first;
  }
  EXPECT_THAT(error_of([&] { tokens(dataset, 0, 2 * kBlockIds + 10); }), HasSubstr("do not fit their checksum"));
}

TEST_F(DamagedBlock, IsCheckedOnce) {
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_EQ(tokens(dataset, 3, 1), Ids(1, 7));
  const ShardEntry shard = read_manifest(scratch.path()).splits.at(DataSplit::Train).shards.at(0);
  const uint16_t other = 9;
  File(scratch / shard.file, File::Mode::ReadWrite).write_at(shard.source.offset + 2 * 5, &other, 2);
  EXPECT_EQ(tokens(dataset, 5, 1), Ids(1, 9));
}

// A shard whose signature of HDF5 is gone, in a file that otherwise is what its manifest states.
struct NoHdf5 : testing::Test {
  NoHdf5() {
    DatasetBuilder{.directory = scratch.path(), .vocabulary = 256}.pairs({{{1, 2}, {3}}, {{4}, {5, 6, 7}}});
    manifest = read_manifest(scratch.path());
    path = scratch / shard().file;
    const uint64_t none = 0;
    File(path, File::Mode::ReadWrite).write_at(0, &none, sizeof none);
    state();
  }
  ShardEntry& shard() { return manifest.splits.at(DataSplit::Train).shards.at(0); }
  // Writes the manifest, with the checksums of the file as it is now.
  void state() {
    const File file(path, File::Mode::Read);
    shard().checksum = file_checksum(file);
    shard().structure_checksum = structure_checksum(file, shard(), manifest.token_bytes);
    write_file_atomically(scratch / kManifestName, manifest_text(manifest));
  }
  const Scratch scratch;
  Manifest manifest;
  fs::path path;
};

// HDF5's library was not written for files of strangers: readers do without.
TEST_F(NoHdf5, IsReadAllTheSame) {
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_EQ(read_pairs(dataset), (IdPairs{{{1, 2}, {3}}, {{4}, {5, 6, 7}}}));
  EXPECT_THAT(verify_dataset(scratch.path()), testing::Contains(HasSubstr(path.string())));
}

TEST_F(NoHdf5, EarlierVersionsAreOpenedByIt) {
  manifest.version = kFirstPlacedVersion - 1;
  state();
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }), HasSubstr(path.string()));
}

TEST(DatasetRead, AnIdBeyondTheVocabularyIsDamage) {
  const Scratch scratch;
  Ids ids = range(0, 50);
  ids[30] = 50;
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 50}.stream({ids});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_EQ(tokens(dataset, 0, 30), range(0, 30));
  EXPECT_THAT(error_of([&] { tokens(dataset, 25, 10); }),
              HasSubstr("train-00000.h5 is damaged: id 50 among tokens 25 to 35"));
}

// A mapped file that shrinks would end the process with SIGBUS.
TEST(DatasetRead, AShardCutWhileItIsReadIsAnError) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 60000}.stream({range(0, 50000)});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  const ShardEntry shard = read_manifest(scratch.path()).splits.at(DataSplit::Train).shards.at(0);
  EXPECT_EQ(tokens(dataset, 0, 100), range(0, 100));
  fs::resize_file(scratch / shard.file, shard.source.offset + 2 * 100);
  EXPECT_EQ(tokens(dataset, 0, 100), range(0, 100));
  EXPECT_THAT(error_of([&] { tokens(dataset, 90, 20); }),
              AllOf(HasSubstr("train-00000.h5: the file ends at byte"), HasSubstr("20 more were expected")));
  fs::resize_file(scratch / shard.file, 0);
  EXPECT_THAT(error_of([&] { dataset.document_begin(0); }), HasSubstr("train-00000.h5: the file ends at byte"));
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }),
              HasSubstr("truncated or not its own"));
}

TEST(DatasetRead, AnIndexCutWhileItIsReadIsAnError) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path()}.pairs({{{3, 4}, {1, 5, 2}}, {{6}, {1, 2}}});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  fs::resize_file(scratch / "train-00000.h5", 10);
  std::vector<int32_t> source, target;
  for (const std::string& error :
       {error_of([&] { dataset.source_length(0); }), error_of([&] { dataset.all_lengths(source, target); })}) {
    EXPECT_THAT(error, HasSubstr("train-00000.h5: the file ends at byte"));
  }
}

}  // namespace
}  // namespace weft
