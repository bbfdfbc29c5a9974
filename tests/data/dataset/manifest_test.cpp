// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/manifest.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/hash.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

class ManifestDamage : public testing::Test {
 protected:
  ManifestDamage() {
    Ids ids(50);
    std::iota(ids.begin(), ids.end(), 0);
    DatasetBuilder{.directory = scratch_.path()}.stream({ids});
  }

  // The error after a change to a manifest whose checksum is made to fit.
  template <class F>
  std::string error_after(F&& change) {
    const std::string whole = read_file(scratch_ / kManifestName);
    auto json = nlohmann::json::parse(whole);
    json.erase("checksum");
    change(json);
    json["checksum"] = hash_hex(hash64(json.dump(1) + "\n"));
    write_file_atomically(scratch_ / kManifestName, json.dump(1) + "\n");
    const std::string error = error_of([&] { Dataset::open(scratch_.path(), DataSplit::Train); });
    write_file_atomically(scratch_ / kManifestName, whole);
    return error;
  }

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
  EXPECT_THAT(error_after([](auto& json) { json["version"] = 3; }),
              HasSubstr("version 3; this weft reads versions 1 to 2"));
  EXPECT_THAT(error_after([](auto& json) { json["format"] = "other"; }), HasSubstr("is not a weft dataset"));
}

TEST_F(ManifestDamage, ImpossibleStatementsAreNamed) {
  EXPECT_THAT(error_after([](auto& json) { json["token_bytes"] = 3; }), HasSubstr("token_bytes is 3, not 2 or 4"));
  EXPECT_THAT(error_after([](auto& json) { json["token_bytes"] = 2.5; }), HasSubstr("token_bytes is 2.5"));
  EXPECT_THAT(error_after([](auto& json) { json["kind"] = "triples"; }),
              HasSubstr("kind: \"triples\" is not one of stream, pairs, answers"));
  EXPECT_THAT(error_after([](auto& json) { json["source"]["eos"] = 100; }), HasSubstr("eos is 100, not a number from"));
  EXPECT_THAT(error_after([](auto& json) { json["source"].erase("vocabulary"); }), HasSubstr("no \"vocabulary\""));
  const auto shard = [](auto& json) -> nlohmann::json& { return json["splits"]["train"]["shards"][0]; };
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
  EXPECT_THAT(error_after([](auto& json) { json["source"]["vocabulary"] = 101; }),
              HasSubstr("source_vocabulary is 100, but the manifest says 101"));
  EXPECT_THAT(error_after([](auto& json) { json["source"]["tokenizer_hash"] = "0000000000001235"; }),
              HasSubstr("source_tokenizer_hash is \"0000000000001234\""));
}

}  // namespace
}  // namespace weft
