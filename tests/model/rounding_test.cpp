// Where a bf16 model rounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/model/fixture.h"

namespace weft {
namespace {

using namespace test;

// Logits of a bf16 model are f32, as the loss sees them: near 40 bf16 knows quarters alone.
TEST(Rounding, DecodingReadsTheLogitsOfTheLoss) {
  Context context;
  Mesh mesh = Mesh::single();
  const Vocabularies vocabularies = small_vocabularies(false);
  const auto model = make_model(context, mesh, small_config(false), vocabularies);
  model->allocate(Precision::Bf16, false);
  model->parameters().initialise(5);
  for (BFloat16& gain : model->parameters().find("decoder.final_norm.weight")->value().span<BFloat16>()) {
    gain = BFloat16(40.0f);
  }
  for (int32_t token = 0; token < vocabularies.target; ++token) {
    const std::vector<int32_t> tokens{token}, offsets{0, 1};
    const auto cache = model->begin_decoding({}, 1, 1, 4);
    const Tensor logits = model->decode(*cache, tokens, offsets);
    ASSERT_EQ(logits.dtype(), DType::F32);
    const auto row = logits.span<float>();
    const double most = *std::ranges::max_element(row);
    double sum = 0;
    EXPECT_GT(most, 16) << "too small to tell";
    for (const float x : row) sum += std::exp(static_cast<double>(x) - most);
    ModelBatch batch{.input = pack_tokens(context, {.tokens = tokens, .offsets = offsets})};
    batch.targets = context.empty({1}, DType::I32);
    for (int32_t target = 0; target < vocabularies.target; ++target) {
      batch.targets.data<int32_t>()[0] = target;
      Tape tape(context, Tape::Mode::Off);
      ForwardContext forward{.tape = tape};
      const LossSums sums = no_losses(context);
      model->loss(forward, batch, 0, sums);
      EXPECT_NEAR(most + std::log(sum) - row[static_cast<size_t>(target)], sums.nll.data<double>()[0], 1e-4)
          << token << " to " << target;
    }
  }
}

}  // namespace
}  // namespace weft
