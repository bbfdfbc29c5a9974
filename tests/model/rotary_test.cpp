// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "model/layers/rotary_tables.h"
#include "tests/model/fixture/model.h"

namespace weft {
namespace {

using namespace test;

TEST(RotaryAngles, ArePowersOfTheBase) {
  const std::vector<double> plain = rotary_angles({}, 8), expected{1, 0.1, 0.01, 0.001};
  const std::vector<double> linear = rotary_angles({.scaling = RotaryScaling::Linear, .factor = 4}, 8);
  ASSERT_EQ(plain.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(plain[i], expected[i], 1e-15) << i;
    EXPECT_NEAR(linear[i], expected[i] / 4, 1e-15) << i;
  }
}

// Llama 3.1's: heads of 128, rope_theta 500000, factor 8, low_freq_factor 1, high_freq_factor 4, 8192 positions. By the
// formula of transformers in Python's floats: with wavelength w = 2 pi / a, an angle a becomes a / 8 if w > 8192, stays
// if w < 2048, and is mixed as 8192 / w between.
TEST(RotaryAngles, AreKeptMixedOrDividedByLlama3sScaling) {
  const std::vector<double> angles =
      rotary_angles({.base = 500000, .scaling = RotaryScaling::Llama3, .factor = 8}, 128);
  const std::map<size_t, double> expected{{0, 1.0},
                                          {28, 0.0032114459947525913},
                                          {29, 0.002166570763503359},
                                          {32, 0.0005248461609929547},
                                          {35, 9.556212353964683e-05},
                                          {63, 3.068925988914511e-07}};
  ASSERT_EQ(angles.size(), 64U);
  for (const auto& [pair, angle] : expected) EXPECT_NEAR(angles[pair] / angle, 1, 1e-12) << pair;
}

// Positions beyond the tables have no angles.
TEST(RotaryTables, EndAtTheLongestSequence) {
  Context context;
  Mesh mesh = Mesh::single();
  ModelSpec spec = small_spec(false);
  spec.config.positions = Positions::Rotary, spec.config.max_length = 4;
  const auto model = make_model(context, mesh, spec);
  model->allocate(Precision::Fp32, Purpose::Inference);
  model->parameters().initialise(5);
  const auto states_of = [&](std::vector<int32_t> tokens) {
    const std::vector<int32_t> offsets{0, static_cast<int32_t>(tokens.size())};
    Tape tape(context, Tape::Mode::Off);
    ForwardContext forward{.tape = tape};
    model->states(forward, pack_tokens(context, {.tokens = tokens, .offsets = offsets}));
  };
  EXPECT_NO_THROW(states_of({1, 2, 3, 4}));
  EXPECT_THROW(states_of({1, 2, 3, 4, 5}), InternalError);
}

}  // namespace
}  // namespace weft
