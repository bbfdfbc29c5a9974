// SPDX-License-Identifier: Apache-2.0
// The weights of attention in imported models are those that Hugging Face's GPT-2 has (output_attentions).
#include <gtest/gtest.h>

#include "tests/exchange/fixture/attention.h"
#include "tests/exchange/fixture/gpt2.h"

namespace weft {
namespace {

using namespace test;

TEST(Gpt2Attention, EqualsHuggingFaces) {
  for (const auto& [name, golden_case] : golden()["cases"].items()) {
    const Scratch scratch;
    import_hugging_face(Gpt2Directory(name).write(scratch), scratch / "imported", {{"version", "test"}});
    const ImportedModel model(scratch / "imported");
    auto ids = golden()["ids"].get<std::vector<int32_t>>();
    ids.resize(golden()["positions"].back().get<size_t>() + 1);
    const std::vector<AttentionMap> maps = attention_maps(model.loaded, {}, ids, 2000).maps;
    const Json& expected = golden_case["attention"];
    ASSERT_EQ(maps.size(), expected.size()) << name;
    for (size_t layer = 0; layer < maps.size(); ++layer) {
      SCOPED_TRACE(fmt::format("{}, layer {}", name, layer));
      expect_weights(maps[layer], expected[layer]);
    }
  }
}

}  // namespace
}  // namespace weft
