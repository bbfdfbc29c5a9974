// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/manifest.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/hash.h"
#include "data/dataset/inspect.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::Contains;
using testing::HasSubstr;

class ManifestDamage : public testing::Test {
 protected:
  ManifestDamage() {
    Ids ids(50);
    std::iota(ids.begin(), ids.end(), 0);
    DatasetBuilder{.directory = scratch_.path()}.stream({ids});
  }

  // What `look` says after a change to a manifest whose checksum is made to fit.
  template <class F, class Look>
  auto after(F&& change, Look&& look) {
    const std::string whole = read_file(scratch_ / kManifestName);
    auto json = nlohmann::json::parse(whole);
    json.erase("checksum");
    change(json);
    json["checksum"] = hash_hex(hash64(json.dump(1) + "\n"));
    write_file_atomically(scratch_ / kManifestName, json.dump(1) + "\n");
    auto said = look();
    write_file_atomically(scratch_ / kManifestName, whole);
    return said;
  }
  // The error of opening the dataset, and what its verification finds.
  template <class F>
  std::string error_after(F&& change) {
    return after(change, [&] { return error_of([&] { Dataset::open(scratch_.path(), DataSplit::Train); }); });
  }
  template <class F>
  std::vector<std::string> findings_after(F&& change) {
    return after(change, [&] { return verify_dataset(scratch_.path()); });
  }

  static nlohmann::json& shard(nlohmann::json& json) { return json["splits"]["train"]["shards"][0]; }

  Scratch scratch_;
};

TEST_F(ManifestDamage, UnchangedIsAccepted) {
  EXPECT_EQ(error_after([](auto&) {}), "no error");
}

TEST_F(ManifestDamage, EveryFlippedByteIsFound) {
  const std::string whole = read_file(scratch_ / kManifestName);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    File(scratch_ / kManifestName, File::Mode::ReadWrite).write_at(0, damaged.data(), damaged.size());
    EXPECT_THROW(read_manifest(scratch_.path()), DataError) << at << ": " << damaged.substr(at, 20);
  }
}

TEST_F(ManifestDamage, TruncationIsFound) {
  const std::string whole = read_file(scratch_ / kManifestName);
  for (size_t size = 0; size + 1 < whole.size(); size += 7) {
    write_file_atomically(scratch_ / kManifestName, whole.substr(0, size));
    EXPECT_THROW(read_manifest(scratch_.path()), DataError) << size;
  }
}

TEST_F(ManifestDamage, LaterVersionsAndForeignFilesAreNamed) {
  EXPECT_THAT(error_after([](auto& json) { json["version"] = 4; }),
              HasSubstr("version 4; this weft reads versions 1 to 3"));
  EXPECT_THAT(error_after([](auto& json) { json["format"] = "other"; }), HasSubstr("is not a weft dataset"));
}

TEST_F(ManifestDamage, ImpossibleStatementsAreNamed) {
  EXPECT_THAT(error_after([](auto& json) { json["token_bytes"] = 3; }), HasSubstr("token_bytes is 3, not 2 or 4"));
  EXPECT_THAT(error_after([](auto& json) { json["token_bytes"] = 2.5; }), HasSubstr("token_bytes is 2.5"));
  EXPECT_THAT(error_after([](auto& json) { json["kind"] = "triples"; }),
              HasSubstr("kind: \"triples\" is not one of stream, pairs, answers"));
  EXPECT_THAT(error_after([](auto& json) { json["source"]["eos"] = 100; }), HasSubstr("eos is 100, not a number from"));
  EXPECT_THAT(error_after([](auto& json) { json["source"].erase("vocabulary"); }), HasSubstr("no \"vocabulary\""));
  EXPECT_THAT(error_after([&](auto& json) { shard(json)["file"] = "../x.h5"; }), HasSubstr("is no file name"));
  EXPECT_THAT(error_after([&](auto& json) { shard(json)["checksum"] = "12"; }), HasSubstr("no checksum"));
  EXPECT_THAT(error_after([&](auto& json) { shard(json)["source"]["offset"] = 1 << 30; }), HasSubstr("leave a file"));
  EXPECT_THAT(error_after([&](auto& json) { shard(json)["source"]["count"] = 49; }), HasSubstr("the shards hold"));
  EXPECT_THAT(error_after([&](auto& json) { shard(json)["bytes"] = -1; }), HasSubstr("bytes is -1"));
  EXPECT_THAT(error_after([](auto& json) { json["splits"] = 3; }), HasSubstr("splits is no object"));
  EXPECT_THAT(error_after([](auto& json) { json["splits"]["dev"] = json["splits"]["train"]; }),
              HasSubstr("dataset.json: splits: \"dev\" is not one of train, valid, test"));
}

// The manifest and the shard are both sound, but of different vocabularies.
TEST_F(ManifestDamage, ShardAndManifestMustAgree) {
  EXPECT_THAT(findings_after([](auto& json) { json["source"]["vocabulary"] = 101; }),
              Contains(HasSubstr("source_vocabulary is 100, but the manifest says 101")));
  EXPECT_THAT(findings_after([](auto& json) { json["source"]["tokenizer_hash"] = "0000000000001235"; }),
              Contains(HasSubstr("source_tokenizer_hash is \"0000000000001234\"")));
  EXPECT_THAT(findings_after([&](auto& json) { shard(json)["source"]["index"] = 8; }),
              Contains(HasSubstr("HDF5 finds its indices at bytes")));
}

// Earlier versions leave the places of indices to HDF5, so opening a dataset compares.
TEST_F(ManifestDamage, EarlierVersionsAreComparedOnOpening) {
  EXPECT_THAT(error_after([](auto& json) { json["version"] = 2; }),
              HasSubstr("format_version is 3, but the manifest says 2"));
}

TEST_F(ManifestDamage, PlacesAndChecksumsAreComplete) {
  const auto source = [](auto& json) -> nlohmann::json& { return shard(json)["source"]; };
  EXPECT_THAT(error_after([&](auto& json) { source(json).erase("index"); }), HasSubstr("source has no \"index\""));
  EXPECT_THAT(error_after([&](auto& json) { source(json)["index"] = shard(json)["bytes"]; }),
              HasSubstr("the index of 1 records at byte"));
  EXPECT_THAT(error_after([&](auto& json) { source(json)["checksums"].clear(); }),
              HasSubstr("0 checksums for 1 blocks of 1048576 bytes"));
  EXPECT_THAT(error_after([&](auto& json) { source(json)["checksums"].push_back("0000000000000000"); }),
              HasSubstr("2 checksums for 1 blocks"));
  EXPECT_THAT(error_after([&](auto& json) { source(json)["checksums"][0] = 5; }),
              HasSubstr("checksums[0] is no string"));
}

}  // namespace
}  // namespace weft
