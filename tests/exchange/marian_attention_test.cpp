// SPDX-License-Identifier: Apache-2.0
// The weights of attention in a translation model are those that Hugging Face's MarianMT has (output_attentions).
#include <gtest/gtest.h>

#include "tests/exchange/fixture/attention.h"
#include "tests/exchange/fixture/golden_weight.h"
#include "tests/exchange/fixture/gpt2.h"
#include "tests/exchange/fixture/marian.h"

namespace weft {
namespace {

using namespace test;

// As weight() of make_marian_golden.py.
float marian_weight(const std::string& name, size_t place) {
  const float x = golden_weight(name, static_cast<uint32_t>(place));
  if (name.ends_with("_norm.weight")) return 1 + x;
  return name.ends_with(".qkv.weight") || name.ends_with(".q.weight") || name.ends_with(".kv.weight") ? 4 * x : x;
}

TEST(MarianAttention, EqualsHuggingFaces) {
  const Json golden = Json::parse(read_file(fs::path(source_dir()) / "tests/exchange/marian_golden.json"));
  const Scratch scratch;
  const ImportedModel model(write_model(scratch / "model", marian_job(), *marian_tokenizer(), marian_weight));
  const auto ids = [&](const char* of) { return golden[of].get<std::vector<int32_t>>(); };
  const std::vector<AttentionMap> maps = attention_maps(model.loaded, ids("source"), ids("text"), 2000).maps;
  const Json& expected = golden["attention"];
  ASSERT_EQ(maps.size(), expected.size());
  for (size_t n = 0; n < maps.size(); ++n) {
    EXPECT_EQ(enum_name(maps[n].kind), expected[n]["kind"].get<std::string>());
    EXPECT_EQ(maps[n].layer, expected[n]["layer"]);
    SCOPED_TRACE(fmt::format("map {}", n));
    expect_weights(maps[n], expected[n]["heads"]);
  }
}

}  // namespace
}  // namespace weft
