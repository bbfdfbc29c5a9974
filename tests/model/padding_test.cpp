// SPDX-License-Identifier: Apache-2.0
// model.padding_id: a row that begins at zero. That training leaves it there, parity_test checks on every layout.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/fixture/model.h"

namespace weft {
namespace {

using namespace test;

std::unique_ptr<Transformer> make(Context& context, Mesh& mesh, int64_t padding_id) {
  TransformerConfig c = small_config(true);
  c.tying = Tying::None, c.padding_id = padding_id;
  return make_model(context, mesh, {.config = c, .vocabularies = small_vocabularies(true)});
}

// PyTorch counts the row among the parameters too.
TEST(Padding, RowIsAParameterThatBeginsAtZero) {
  Context context;
  Mesh mesh = Mesh::single();
  const auto model = make(context, mesh, 3), plain = make(context, mesh, -1);
  EXPECT_EQ(model->parameters().global_elements(), plain->parameters().global_elements());
  for (const auto& m : {model.get(), plain.get()}) {
    m->allocate(Precision::Fp32, Purpose::Inference);
    m->parameters().initialise(5);
  }
  for (const char* name : {"encoder.embedding.tokens", "decoder.embedding.tokens"}) {
    const Tensor table = model->parameters().find(name)->value(), drawn = plain->parameters().find(name)->value();
    for (int64_t row = 0; row < 11; ++row) {
      const auto values = table.slice(row, row + 1).span<float>(), others = drawn.slice(row, row + 1).span<float>();
      if (row == 3) {
        EXPECT_EQ(std::ranges::count(values, 0.0f), 12) << name;
      } else {
        EXPECT_TRUE(std::ranges::equal(values, others)) << name << " " << row;
      }
    }
  }
}

TEST(Padding, TokenBelongsToTheVocabulary) {
  Context context;
  Mesh mesh = Mesh::single();
  EXPECT_NO_THROW(make(context, mesh, 10));
  EXPECT_THROW(make(context, mesh, 11), ConfigError);
}

}  // namespace
}  // namespace weft
