// SPDX-License-Identifier: Apache-2.0
// The vectors that a model reads: of tokens, of positions, and their sum.
#include "evaluate/map/input_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ops/embed.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

// A language model of characters with 8 positions and a width of 16.
struct ModelInputs : testing::Test {
  LoadedModel trained() {
    run.job().train.max_steps = 3;
    run.train();
    return load_model(context, mesh, run.directory());
  }
  const TransformerConfig& model() { return run.job().model; }

  Scratch scratch;
  SmallRun run{scratch};
  Context context{Device{}, 1};
  Mesh mesh = Mesh::single();
};

TEST_F(ModelInputs, AreRowsOfTwoTablesAndTheirSum) {
  const LoadedModel loaded = trained();
  const InputVectors found = input_vectors(loaded, "the t");
  EXPECT_THAT(found.tokens.texts, ElementsAre("t", "h", "e", " ", "t"));
  const VectorRows positions = position_vectors(loaded, 100);
  EXPECT_EQ(positions.count(), 8);
  EXPECT_EQ(positions.width, 16);
  const VectorRows one = text_vectors(loaded, {"t"}, VectorSource::Tokens);
  EXPECT_TRUE(std::ranges::equal(found.token.row(0), one.row(0)));
  EXPECT_TRUE(std::ranges::equal(found.token.row(4), one.row(0)));
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(std::ranges::equal(found.position.row(i), positions.row(i)));
    for (int64_t c = 0; c < 16; ++c) EXPECT_EQ(found.sum.row(i)[c], found.token.row(i)[c] + positions.row(i)[c]);
  }
  EXPECT_FALSE(std::ranges::equal(positions.row(0), positions.row(1)));
  EXPECT_EQ(position_vectors(loaded, 3).count(), 3);
}

TEST_F(ModelInputs, SinusoidsAndScaleAreThoseOfTheModel) {
  run.job().model.positions = Positions::Sinusoidal, run.job().model.scale_embedding = true;
  const LoadedModel loaded = trained();
  const VectorRows positions = position_vectors(loaded, 100);
  EXPECT_EQ(positions.values, sinusoids(8, 16, model().sinusoid_form, model().sinusoid_base));
  const InputVectors found = input_vectors(loaded, "t");
  const VectorRows table = text_vectors(loaded, {"t"}, VectorSource::Tokens);
  for (int64_t c = 0; c < 16; ++c) EXPECT_FLOAT_EQ(found.token.row(0)[c], 4 * table.row(0)[c]);
}

TEST_F(ModelInputs, WithoutPositionsAreTheTokens) {
  run.job().model.positions = Positions::None;
  const LoadedModel loaded = trained();
  const InputVectors found = input_vectors(loaded, "the");
  EXPECT_EQ(found.position.count(), 0);
  EXPECT_EQ(found.sum.values, found.token.values);
  EXPECT_THAT(error_of<ConfigError>([&] { position_vectors(loaded, 8); }), HasSubstr("no vectors of positions"));
}

TEST_F(ModelInputs, RefuseTextsThatDoNotFit) {
  const LoadedModel loaded = trained();
  EXPECT_THAT(error_of<DataError>([&] { input_vectors(loaded, ""); }), HasSubstr("is empty"));
  EXPECT_THAT(error_of<DataError>([&] { input_vectors(loaded, "the boats"); }), HasSubstr("9 tokens"));
}

TEST_F(ModelInputs, NarrowTablesAreRefused) {
  run.job().model.embedding_width = 4, run.job().model.tying = Tying::None;
  const LoadedModel loaded = trained();
  EXPECT_THAT(error_of<ConfigError>([&] { input_vectors(loaded, "t"); }), HasSubstr("from 4 to 16 elements"));
  EXPECT_EQ(position_vectors(loaded, 8).width, 16);
}

}  // namespace
}  // namespace weft
