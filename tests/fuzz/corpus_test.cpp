// SPDX-License-Identifier: Apache-2.0
// The fuzzer's seeds, and every small damage to them, in ordinary test runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "data/parquet/parquet_file.h"
#include "data/text/byte_stream.h"
#include "tests/fuzz/checkpoint_fuzz.h"
#include "tests/fuzz/datagram_fuzz.h"
#include "tests/fuzz/dataset_fuzz.h"
#include "tests/fuzz/journal_fuzz.h"
#include "tests/fuzz/pattern_fuzz.h"
#include "tests/fuzz/report_fuzz.h"
#include "tests/fuzz/safetensors_fuzz.h"
#include "tests/fuzz/shard_fuzz.h"
#include "tests/fuzz/text_fuzz.h"
#include "tests/fuzz/yaml_fuzz.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

struct Seed {
  std::string name;
  std::vector<uint8_t> bytes;
};

// A target's seeds, and the function that reads bytes as its format.
struct Target {
  const char* name;
  bool (*reads)(std::span<const uint8_t>);
  int whole, damaged;         // the least numbers of seeds
  bool cut_is_damage = true;  // no whole file stays whole if its end is cut off
  size_t refused = 1000;      // the least number of single wrong bytes that are refused
  std::vector<Seed> seeds() const {
    std::vector<Seed> all;
    for (const auto& entry : fs::directory_iterator(fs::path(source_dir()) / "tests/fuzz" / name)) {
      const std::string bytes = read_file(entry.path());
      all.push_back({entry.path().filename(), {bytes.begin(), bytes.end()}});
    }
    return all;
  }
};

class FuzzCorpus : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string_view(target_.name) == "zstd" && !has_zstd()) GTEST_SKIP() << "built without zstd";
    if (std::string_view(target_.name) != "parquet") return;
    if (const std::string found = describe_parquet(); found.starts_with("no: ")) GTEST_SKIP() << found;
  }
  const Target& target_ = GetParam();
};

TEST_P(FuzzCorpus, WholeFilesAreReadAndDamagedOnesRefused) {
  const std::vector<Seed> all = target_.seeds();
  EXPECT_GE(std::ranges::count_if(all, [](const Seed& s) { return s.name.starts_with("whole_"); }), target_.whole);
  EXPECT_GE(std::ranges::count_if(all, [](const Seed& s) { return s.name.starts_with("damaged_"); }), target_.damaged);
  for (const Seed& seed : all) EXPECT_EQ(target_.reads(seed.bytes), seed.name.starts_with("whole_")) << seed.name;
}

TEST_P(FuzzCorpus, ShorterFilesAreReadOrRefused) {
  for (const Seed& seed : target_.seeds()) {
    for (size_t size = 0; size < seed.bytes.size(); ++size) {
      const bool read = target_.reads(std::span(seed.bytes).first(size));
      EXPECT_FALSE(read && target_.cut_is_damage) << seed.name << " cut to " << size;
    }
  }
}

// Whatever one byte becomes, the file is read or refused: nothing else may happen.
TEST_P(FuzzCorpus, AnyOneByteMayBeWrong) {
  size_t refused = 0;
  for (Seed seed : target_.seeds()) {
    for (uint8_t& byte : seed.bytes) {
      const uint8_t right = byte;
      for (const int wrong : {0x00, 0x20, 0x22, 0x2c, 0x30, 0x39, 0x5b, 0x5d, 0x7b, 0x7d, 0x7f, 0xff, right ^ 1}) {
        byte = static_cast<uint8_t>(wrong);
        refused += target_.reads(seed.bytes) ? 0 : 1;
      }
      byte = right;
    }
  }
  EXPECT_GT(refused, target_.refused);
}

INSTANTIATE_TEST_SUITE_P(
    Targets, FuzzCorpus,
    testing::Values(Target{"checkpoint", reads_checkpoint, 3, 7}, Target{"csv", reads_csv, 3, 6, false, 100},
                    Target{"datagram", reads_datagram, 2, 4}, Target{"dataset", reads_dataset, 3, 7},
                    Target{"extends", reads_extends, 2, 4, false},
                    // A file may end after a whole member or frame.
                    Target{"gzip", reads_gzip, 2, 4, false}, Target{"journal", reads_journal, 1, 2},
                    Target{"jsonl", reads_jsonl, 5, 7, false}, Target{"messages", reads_messages, 3, 8, false},
                    Target{"overrides", reads_overrides, 3, 4, false}, Target{"parquet", reads_parquet, 3, 4},
                    Target{"pattern", reads_pattern, 4, 4, false, 100},
                    Target{"report", reads_report, 2, 3, false, 100}, Target{"run_state", reads_run_state, 2, 4},
                    Target{"safetensors", reads_safetensors, 6, 7}, Target{"shard", reads_shard, 2, 4},
                    Target{"stored_job", reads_stored_job, 3, 3, false}, Target{"tsv", reads_tsv, 2, 2, false, 100},
                    Target{"yaml", reads_yaml, 4, 6, false}, Target{"zstd", reads_zstd, 2, 3, false, 200}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
