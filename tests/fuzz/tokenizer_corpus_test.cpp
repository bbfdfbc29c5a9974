// SPDX-License-Identifier: Apache-2.0
// The seeds of the fuzzers of tokenizer files, and damage to them, in ordinary test runs.
#include <gtest/gtest.h>

#include <random>

#include "data/tokenizer/config.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/tokenizer_fuzz.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

struct Target {
  const char* name;
  bool (*reads)(std::span<const uint8_t>);
};

class TokenizerCorpus : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().name) == "sentencepiece" && !has_sentencepiece()) {
      GTEST_SKIP() << "built without SentencePiece";
    }
    for (const auto& entry : fs::directory_iterator(fs::path(source_dir()) / "tests/fuzz" / GetParam().name)) {
      const std::string bytes = read_file(entry.path());
      const bool damaged = entry.path().filename().string().starts_with("damaged_");
      (damaged ? damaged_ : seeds_).emplace_back(bytes.begin(), bytes.end());
    }
  }
  std::vector<std::vector<uint8_t>> seeds_, damaged_;
};

TEST_P(TokenizerCorpus, SeedsAreReadAndDamageIsReadOrRefused) {
  ASSERT_FALSE(seeds_.empty());
  std::mt19937 random(6);
  int refused = 0;
  for (const std::vector<uint8_t>& seed : seeds_) {
    EXPECT_TRUE(GetParam().reads(seed));
    EXPECT_FALSE(GetParam().reads(std::span(seed).first(seed.size() / 2)));
    for (int round = 0; round < 500; ++round) {
      std::vector<uint8_t> damaged = seed;
      damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
      refused += GetParam().reads(damaged) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 20);
  for (const std::vector<uint8_t>& seed : damaged_) EXPECT_FALSE(GetParam().reads(seed));
}

INSTANTIATE_TEST_SUITE_P(Targets, TokenizerCorpus,
                         testing::Values(Target{"tokenizer_json", reads_tokenizer_json},
                                         Target{"rank_file", reads_rank_file},
                                         Target{"vocab_and_merges", reads_vocab_and_merges},
                                         Target{"hugging_face", reads_hugging_face},
                                         Target{"sentencepiece", reads_sentencepiece}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
