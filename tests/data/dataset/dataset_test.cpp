// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/dataset.h"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/mount.h>

#include <atomic>
#include <cstring>
#include <iostream>
#include <thread>

#include "base/hdf5.h"
#include "data/dataset/open_shards.h"
#include "tests/data/dataset/readers.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

TEST(DatasetStream, TokensComeBackAcrossShards) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 65536, .shard_tokens = 10}.stream(
      {range(0, 7), range(7, 1), range(8, 30), {38, 65535}});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_EQ(dataset.num_tokens(), 40);
  EXPECT_EQ(dataset.header().num_shards, 4);
  EXPECT_EQ(dataset.header().num_documents, 4);
  EXPECT_EQ(dataset.header().token_bytes, 2);
  EXPECT_EQ(dataset.header().source.vocabulary, 65536);
  Ids all = range(0, 40);
  all[39] = 65535;
  for (int64_t first = 0; first < 40; ++first) {
    for (int64_t count = 0; count <= 40 - first; ++count) {
      const Ids wanted(all.begin() + first, all.begin() + first + count);
      ASSERT_EQ(tokens(dataset, first, count), wanted) << first << " " << count;
    }
  }
  EXPECT_EQ(dataset.document_begin(0), 0);
  EXPECT_EQ(dataset.document_begin(1), 7);
  EXPECT_EQ(dataset.document_begin(2), 8);
  EXPECT_EQ(dataset.document_begin(3), 38);  // no document begins in shards 1 and 2
}

TEST(DatasetStream, LargeVocabulariesTakeFourBytes) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 65537}.stream({{0, 65536, 65535}});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_EQ(dataset.header().token_bytes, 4);
  EXPECT_EQ(tokens(dataset, 0, 3), (Ids{0, 65536, 65535}));
}

TEST(DatasetStream, OutOfRangeIsAnInternalError) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path()}.stream({range(0, 10)});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_THROW(tokens(dataset, -1, 1), InternalError);
  EXPECT_THROW(tokens(dataset, 5, 6), InternalError);
  EXPECT_THROW(tokens(dataset, INT64_MAX, 1), InternalError);
  EXPECT_THROW(dataset.document_begin(1), InternalError);
  EXPECT_THROW(dataset.source_length(0), InternalError);
}

TEST(DatasetPairs, RowsComeBackAcrossShards) {
  const Scratch scratch;
  IdPairs rows;
  for (int i = 0; i < 50; ++i) rows.emplace_back(range(i, i % 5), range(2 * i, 1 + i % 7, -1));
  for (auto& [source, target] : rows) {
    for (int32_t& id : target) id = std::max(id, 0);
  }
  rows[20].first = Ids(40, 99);  // longer than a shard: a shard of its own
  DatasetBuilder{.directory = scratch.path(), .shard_tokens = 32}.pairs(rows);
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  ASSERT_EQ(dataset.num_pairs(), 50);
  EXPECT_GT(dataset.header().num_shards, 5);
  for (int64_t i = 0; i < 50; ++i) {
    const auto& [source, target] = rows[static_cast<size_t>(i)];
    ASSERT_EQ(dataset.source_length(i), static_cast<int32_t>(source.size()));
    ASSERT_EQ(dataset.target_length(i), static_cast<int32_t>(target.size()));
    Ids read_source(source.size()), read_target(target.size());
    dataset.read_source(i, read_source);
    dataset.read_target(i, read_target);
    EXPECT_EQ(read_source, source);
    EXPECT_EQ(read_target, target);
  }
  Ids wrong(rows[3].first.size() + 1);
  EXPECT_THROW(dataset.read_source(3, wrong), InternalError);
  EXPECT_THROW(dataset.source_length(50), InternalError);
}

TEST(DatasetOpen, MissingPartsAreNamed) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }),
              testing::AllOf(HasSubstr("holds no prepared dataset"), HasSubstr("weft prepare")));
  DatasetBuilder{.directory = scratch.path()}.stream({{1, 2}});
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Test); }),
              HasSubstr("no split \"test\", only: train"));
  EXPECT_EQ(Dataset::splits(scratch.path()), std::vector{DataSplit::Train});
  fs::remove(scratch / "train-00000.h5");
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }),
              HasSubstr("train-00000.h5: No such file"));
}

TEST(DatasetOpen, TruncatedAndForeignShardsAreNamed) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path()}.stream({range(0, 99)});
  const fs::path shard = scratch / "train-00000.h5";
  const std::string whole = read_file(shard);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, whole.size() - 1}) {
    write_file_atomically(shard, whole.substr(0, size));
    EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }), HasSubstr("train-00000.h5"))
        << size;
  }
  write_file_atomically(shard, whole + "x");
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }), HasSubstr("bytes, but"));
  write_file_atomically(shard, std::string(whole.size(), 'x'));
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }), HasSubstr("damaged"));
}

// A shard of equal size from another dataset: every byte is sound, but the shard belongs to the other dataset.
TEST(DatasetOpen, AnotherDatasetsShardIsRefused) {
  const Scratch scratch;
  const fs::path other = scratch / "other";
  fs::create_directories(other);
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 100}.stream({range(0, 50)});
  DatasetBuilder{.directory = other, .vocabulary = 99}.stream({range(0, 50)});
  fs::copy_file(other / "train-00000.h5", scratch / "train-00000.h5", fs::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }), HasSubstr("damaged"));
}

// A forced preparation renames new shards over old ones: a reader that has the old ones open keeps reading them.
TEST(DatasetRead, AReplacedShardKeepsItsOpenContent) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path()}.stream({range(0, 50)});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  DatasetBuilder{.directory = scratch.path()}.stream({range(20, 70)});
  EXPECT_EQ(tokens(dataset, 0, 50), range(0, 50));
}

TEST(DatasetPairs, LengthsEqualThoseOfTheRows) {
  const Scratch scratch;
  IdPairs rows;
  for (int i = 0; i < 40; ++i) rows.push_back({range(3, 4 + i % 7), range(2, 4 + i % 5)});
  DatasetBuilder{.directory = scratch.path(), .shard_tokens = 50}.pairs(rows);
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_GT(dataset.header().num_shards, 3);
  std::vector<int32_t> source = {99}, target;
  dataset.all_lengths(source, target);
  ASSERT_EQ(source.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(source[i], static_cast<int32_t>(rows[i].first.size()));
    EXPECT_EQ(target[i], dataset.target_length(static_cast<int64_t>(i)));
  }
}

// Of 40 shards a reader checks its share, and opens only those it reads.
TEST(DatasetShards, OnlyShardsThatAreReadAreOpened) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 1000, .shard_tokens = 10}.stream({range(0, 400)});
  const Dataset unread = Dataset::open(scratch.path(), DataSplit::Train, ShardShare::none());
  EXPECT_EQ(unread.opened_shards(), 0);
  EXPECT_EQ(tokens(unread, 15, 10), range(15, 10));
  EXPECT_EQ(tokens(unread, 12, 10), range(12, 10));
  EXPECT_EQ(unread.opened_shards(), 2);
  for (const int part : {0, 1, 2}) {
    EXPECT_EQ(Dataset::open(scratch.path(), DataSplit::Train, {.part = part, .of = 3}).opened_shards(),
              part == 0 ? 14 : 13);
  }
  EXPECT_EQ(Dataset::open(scratch.path(), DataSplit::Train, {.part = 50, .of = 60}).opened_shards(), 0);
}

// Together the readers check every shard; a damaged shard that no reader has checked is refused when it is read.
TEST(DatasetShards, EveryShardIsInOneShare) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .shard_tokens = 10}.stream({range(0, 70)});
  for (int shard = 0; shard < 7; ++shard) {
    const fs::path path = scratch / fmt::format("train-{:05}.h5", shard);
    const std::string whole = read_file(path);
    write_file_atomically(path, whole.substr(0, whole.size() - 1));
    int refused = 0;
    for (int part = 0; part < 3; ++part) {
      const auto open = [&] { return Dataset::open(scratch.path(), DataSplit::Train, {.part = part, .of = 3}); };
      const std::string error = error_of(open);
      refused += error.find(path.filename()) != std::string::npos;
      if (error == "no error") {
        EXPECT_THAT(error_of([&] { tokens(open(), 0, 70); }), HasSubstr(path.filename())) << part;
      }
    }
    EXPECT_EQ(refused, 1) << shard;
    write_file_atomically(path, whole);
  }
}

struct ShardsKeptOpen : testing::Test {
  ShardsKeptOpen() {
    DatasetBuilder{.directory = scratch.path(), .vocabulary = 1000, .shard_tokens = 10}.stream({range(0, 90)});
  }
  OpenShards shards(size_t limit) const {
    const Manifest manifest = read_manifest(scratch.path());
    const auto identity = std::make_shared<const ShardIdentity>(identity_of(manifest, DataSplit::Train));
    std::vector<ShardFile> files;
    for (const ShardEntry& shard : manifest.splits.at(DataSplit::Train).shards) {
      files.push_back({scratch.path(), shard, identity});
    }
    return OpenShards(std::move(files), limit);
  }
  static Ids first_of(const Shard& shard) {
    Ids ids(2);
    shard.read_source(0, ids);
    return ids;
  }
  // The number of files of the dataset that this process has open.
  int64_t descriptors() const {
    int64_t count = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += fs::read_symlink(entry.path(), gone).string().starts_with(scratch.path().string());
    }
    return count;
  }
  const Scratch scratch;
};

TEST_F(ShardsKeptOpen, TheLastReadStayOpen) {
  const OpenShards three = shards(3);
  for (const size_t i : {0, 1, 2, 0, 3}) three.open(i);  // opening 3 closes shard 1
  EXPECT_EQ(three.opened(), 4);
  EXPECT_EQ(descriptors(), 3);
  for (const size_t i : {0, 2, 3}) three.open(i);
  EXPECT_EQ(three.opened(), 4);
  three.open(1);
  EXPECT_EQ(three.opened(), 5);
  for (size_t i = 0; i < three.count(); ++i)
    EXPECT_EQ(first_of(*three.open(i)), range(static_cast<int32_t>(10 * i), 2));
  EXPECT_EQ(descriptors(), 3);
}

TEST_F(ShardsKeptOpen, HeldShardsStayOpen) {
  const OpenShards one = shards(1);
  const std::shared_ptr<const Shard> held = one.open(4);
  for (const size_t i : {5, 6}) EXPECT_EQ(first_of(*one.open(i)), range(static_cast<int32_t>(10 * i), 2));
  ASSERT_GT(held.use_count(), 0);
  EXPECT_EQ(first_of(*held), range(40, 2));
  EXPECT_EQ(descriptors(), 2);
}

// A checkpoint records the hash of the shards that it was trained on.
TEST(DatasetOpen, ContentIsOfTheShards) {
  const Scratch scratch;
  const auto content = [&](int32_t from) {
    const fs::path directory = scratch / std::to_string(from);
    fs::create_directories(directory);
    DatasetBuilder{.directory = directory}.stream({range(from, 50)});
    const uint64_t first = Dataset::open(directory, DataSplit::Train).parts().at(0).content;
    EXPECT_EQ(Dataset::open(directory, DataSplit::Train).parts().at(0).content, first);
    return first;
  };
  EXPECT_NE(content(5), content(6));
}

TEST(DatasetOpen, WorksInAReadOnlyDirectoryAndWritesNothing) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path()}.stream({range(0, 99)});
  const auto before = fs::last_write_time(scratch.path());
  fs::permissions(scratch / "train-00000.h5", fs::perms::owner_read);
  fs::permissions(scratch.path(), fs::perms::owner_read | fs::perms::owner_exec);
  {
    const Dataset first = Dataset::open(scratch.path(), DataSplit::Train);
    const Dataset second = Dataset::open(scratch.path(), DataSplit::Train);
    EXPECT_EQ(tokens(first, 5, 10), tokens(second, 5, 10));
  }
  EXPECT_EQ(fs::last_write_time(scratch.path()), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 2);
  fs::permissions(scratch.path(), fs::perms::owner_all);
}

// Mounts a real read-only file system, if this user may mount one.
TEST(DatasetOpen, WorksOnAReadOnlyMount) {
  const Scratch scratch;
  const fs::path mounted = scratch / "mounted";
  fs::create_directories(mounted);
  if (mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=1m") != 0) {
    std::cout << "nothing was mounted: " << strerror(errno) << "\n";
    return;
  }
  DatasetBuilder{.directory = mounted}.stream({range(0, 99)});
  EXPECT_EQ(mount(nullptr, mounted.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const std::string error = error_of([&] {
    const Dataset dataset = Dataset::open(mounted, DataSplit::Train);
    EXPECT_EQ(tokens(dataset, 5, 10), range(5, 10));
  });
  EXPECT_THROW(File(mounted / "x", File::Mode::Create), DataError);
  umount(mounted.c_str());
  EXPECT_EQ(error, "no error");
}

// The lock that HDF5 takes for a writer must not keep readers out.
TEST(DatasetOpen, ReadersIgnoreLocks) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path()}.stream({range(0, 99)});
  const fs::path path = scratch / "train-00000.h5";
  const File locked(path, File::Mode::ReadWrite);
  ASSERT_EQ(flock(locked.descriptor(), LOCK_EX | LOCK_NB), 0);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  ASSERT_LT(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), 0) << "HDF5 itself minds no locks here";
  EXPECT_EQ(error_of([&] { Dataset::open(scratch.path(), DataSplit::Train); }), "no error");
}

TEST(DatasetRead, ManyThreadsReadAtOnce) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .vocabulary = 5000, .shard_tokens = 700}.stream({range(0, 5000)});
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int32_t first = t; first + 65 < 5000; first += 13) wrong += tokens(dataset, first, 65) != range(first, 65);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft
