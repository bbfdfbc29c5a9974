// SPDX-License-Identifier: Apache-2.0
// Every key of the model section, as fields() declares it, with other values: each value makes a different model. A
// key that no layer reads, and a value that a layer treats like another one, are found when they are declared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/model/fixture/model.h"
#include "tests/model/fixture/variations.h"

namespace weft {
namespace {

using namespace test;

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
  model->loss(forward, random_batch(context, model->vocabularies(), {5, 1, 4}), 0, sums);
  std::string text = fmt::format("loss {:.17g}", sums.loss.data<double>()[0]);
  for (const auto& p : model->parameters().parameters())
    text += fmt::format(" {}{}", p->spec().name, p->spec().shape.text());
  return text;
}

TEST(ModelOptions, EveryValueMakesAnotherModel) {
  TransformerConfig config = small_config(true);
  config.positions = Positions::Sinusoidal, config.tying = Tying::None;
  std::map<std::string, std::string> made = {{fingerprint(config), "the model"}};
  std::vector<std::string> alike;
  const std::function use = [&](const std::string&, const std::string& change) {
    const auto [first, is_new] = made.emplace(fingerprint(config), change);
    if (!is_new) alike.push_back(change + " and " + first->second);
  };
  Variations all{"", use};
  config.fields(all);
  // A sinusoid does not depend on the table's length.
  EXPECT_THAT(alike, testing::ElementsAre("max_length=32 and the model"));
}

}  // namespace
}  // namespace weft
