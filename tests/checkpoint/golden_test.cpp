// SPDX-License-Identifier: Apache-2.0
// Checkpoints of every format version, kept as they were written: every later weft reads them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "checkpoint/average.h"
#include "checkpoint/reader.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"
#include "tests/support/stored_tensors.h"

namespace weft {
namespace {

using namespace test;

using Json = nlohmann::ordered_json;

// golden/checkpoint-vN were saved at the same step of the same run, by two replicas of two shards that divide masters
// and moments (golden/make.sh); golden/tensors.json has a hash of each of their tensors (golden/tensors.py).
class GoldenCheckpoint : public testing::TestWithParam<int> {
 protected:
  const fs::path golden_ = source_dir() / "tests" / "checkpoint" / "golden";
  const fs::path path_ = golden_ / fmt::format("checkpoint-v{}", GetParam());
};

TEST_P(GoldenCheckpoint, IsIntactAndDescribesItself) {
  const CheckpointManifest manifest = Checkpoint::open(path_).manifest();
  verify_checkpoint(path_, manifest);
  EXPECT_EQ(manifest.step, 4);
  EXPECT_EQ(manifest.files.size(), 4u);
  EXPECT_EQ(manifest.layout.dp, GetParam() == 1 ? 0 : 2);
  EXPECT_EQ(manifest.state.at("updates"), 4);
  EXPECT_NE(manifest.job.find("name: golden"), std::string::npos);
  EXPECT_TRUE(manifest.provenance.is_object());
  EXPECT_EQ(manifest.attachments.size(), 2u);
  EXPECT_FALSE(manifest.digest || manifest.save_before);
}

TEST_P(GoldenCheckpoint, HoldsTheTensorsThatWereSaved) {
  const Json expected = Json::parse(read_file(golden_ / "tensors.json"));
  EXPECT_EQ(expected.size(), 3u);
  for (const auto& [buffer, tensors] : expected.items()) {
    Json found;
    for (const auto& [name, hash] : hashes_by_name(path_, buffer)) found[name] = hash_hex(hash);
    EXPECT_EQ(found, tensors) << buffer;
  }
}

// An average takes checkpoints of different versions.
TEST(GoldenCheckpoints, DifferentVersionsAreAveraged) {
  const fs::path golden = source_dir() / "tests" / "checkpoint" / "golden";
  const Scratch scratch;
  average_checkpoints({golden / "checkpoint-v1", golden / "checkpoint-v2"}, scratch / "mean");
  EXPECT_EQ(hashes_by_name(scratch / "mean", "master"), hashes_by_name(golden / "checkpoint-v1", "master"));
}

INSTANTIATE_TEST_SUITE_P(Versions, GoldenCheckpoint, testing::Range(1, CheckpointManifest::kVersion + 1));

}  // namespace
}  // namespace weft
