// SPDX-License-Identifier: Apache-2.0
// Every key of the model section, as fields() declares it, with other values: each value makes a different model. A
// key that no layer reads, and a value that a layer treats like another one, are found when they are declared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/model/fixture/model.h"
#include "tests/model/fixture/variations.h"

namespace weft {
namespace {

using namespace test;
using testing::ElementsAre;

// The parameters of a model, and the bits of its loss in training.
std::string fingerprint(const TransformerConfig& config) {
  Context context;
  Mesh mesh = Mesh::single();
  const auto model = make_model(context, mesh, {.config = config, .vocabularies = small_vocabularies(true)});
  model->allocate(Precision::Fp64, Purpose::Inference);
  model->parameters().initialise(3);
  // Biases away from 0: a bias must change the loss.
  for (double& w : model->parameters().master().data.span<double>()) w += 0.01 * std::sin(1e4 * w + 1);
  Tape tape(context, Tape::Mode::Discard);
  ForwardContext forward{.tape = tape, .step = {.dropout_key = 99}};
  const LossSums sums = no_losses(context);
  model->loss(forward, random_batch(context, model->vocabularies(), {5, 1, 4}), {}, sums);
  std::string text = fmt::format("loss {:.17g}", sums.loss.data<double>()[0]);
  for (const auto& p : model->parameters().parameters())
    text += fmt::format(" {}{}", p->spec().name, p->spec().shape.text());
  return text;
}

// The keys of which another value changes nothing in this model.
std::set<std::string> without_effect(TransformerConfig config) {
  std::map<std::string, std::string> made = {{fingerprint(config), "the model"}};
  std::set<std::string> alike;
  const std::function use = [&](const std::string& key, const std::string& change) {
    if (!made.emplace(fingerprint(config), change).second) alike.insert(key);
  };
  Variations all{"", use};
  config.fields(all);
  return alike;
}

TEST(ModelOptions, EveryValueMakesAnotherModel) {
  TransformerConfig sinusoidal = small_config(true), rotary = small_config(true);
  sinusoidal.positions = Positions::Sinusoidal, sinusoidal.tying = Tying::None;
  // The second of two pairs turns 1.6 times in the original length, between the factors.
  rotary.positions = Positions::Rotary, rotary.tying = Tying::None, rotary.bias = false, rotary.head_dim = 4;
  rotary.rotary = {.base = 100, .scaling = RotaryScaling::Llama3, .factor = 3, .original_length = 100};
  // No table of constants depends on its length. What one kind of positions leaves unread another one reads.
  EXPECT_THAT(without_effect(sinusoidal),
              ElementsAre("max_length", "qkv_bias", "rotary.base", "rotary.factor", "rotary.form",
                          "rotary.high_frequency_factor", "rotary.low_frequency_factor", "rotary.original_length",
                          "rotary.scaling"));
  EXPECT_THAT(without_effect(rotary), ElementsAre("max_length", "sinusoid_base", "sinusoid_form"));
}

}  // namespace
}  // namespace weft
