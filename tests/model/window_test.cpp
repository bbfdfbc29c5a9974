// SPDX-License-Identifier: Apache-2.0
// Decoding with rings: a layer whose queries see the last keys keeps no others.
#include <gtest/gtest.h>

#include <vector>

#include "tests/model/fixture/model.h"

namespace weft {
namespace {

using namespace test;

constexpr int32_t kLength = 700;

class Windows : public testing::TestWithParam<bool> {
 protected:
  Windows() : context_({}, 2) {
    ModelSpec spec = small_spec(seq2seq());
    set_blocks(Blocks::Llama, spec.config);
    spec.config.max_length = kLength + 2;  // sources are up to two tokens longer
    spec.config.attention_windows = {20, 0};
    model_ = make_model(context_, mesh_, spec);
    model_->allocate(Precision::Fp32, Purpose::Inference);
    model_->parameters().initialise(5);
    batch_ = random_batch(context_, model_->vocabularies(), {kLength, kLength});
  }
  static bool seq2seq() { return GetParam(); }

  // The first `count` tokens of a row.
  std::vector<int32_t> tokens(int64_t row, int32_t first, int32_t count) const {
    const int32_t* all = batch_.input->tokens.data<int32_t>() + batch_.input->offsets->host[row] + first;
    return {all, all + count};
  }
  std::unique_ptr<KeyValueCache> begin(int64_t hypotheses) {
    return model_->begin_decoding(batch_.source, hypotheses, 3, kLength);
  }
  // Feeds each row so many more of its tokens.
  std::vector<std::vector<float>> feed(KeyValueCache& cache, const std::vector<int32_t>& counts) {
    std::vector<int32_t> fed, offsets{0};
    for (size_t r = 0; r < counts.size(); ++r) {
      const std::vector<int32_t> more = tokens(static_cast<int64_t>(r), cache.past()[r], counts[r]);
      fed.insert(fed.end(), more.begin(), more.end());
      offsets.push_back(static_cast<int32_t>(fed.size()));
    }
    return rows_of(model_->decode(cache, fed, offsets));
  }

  Context context_;
  Mesh mesh_ = Mesh::single();
  std::unique_ptr<Transformer> model_;
  ModelBatch batch_;
};

TEST_P(Windows, LayersOfAWindowKeepARing) {
  const auto cache = begin(2);
  EXPECT_EQ(cache->self(0).size(1), 384) << "19 keys, and room for 256 tokens at once, in blocks of 128";
  EXPECT_EQ(cache->self(1).size(1), kLength);
  EXPECT_EQ(cache->most_fed(), 256);
  const auto small = model_->begin_decoding(batch_.source, 2, 2, 384);
  EXPECT_EQ(small->self(0).size(1), 384);
  EXPECT_EQ(small->most_fed(), 384) << "a ring would not be smaller";
}

// Long prompts of different lengths are fed in pieces by the model itself; the cut changes no bit.
TEST_P(Windows, PromptsOfAnyLengthGiveTheSameBits) {
  const auto whole = begin(2), other = begin(2);
  const auto expected = feed(*whole, {699, 300});
  feed(*other, {1, 299});
  feed(*other, {500, 1});
  const auto cut = feed(*other, {198, 1});
  EXPECT_EQ(cut[0], expected[0]);
  const auto alone = begin(2);
  feed(*alone, {2, 30});
  EXPECT_EQ(feed(*alone, {1, 270})[1], expected[1]);
}

// A copy of a row has what its parent's ring holds, and continues by itself.
TEST_P(Windows, ReorderedRowsContinueFromTheirParents) {
  const auto forked = begin(2), straight = begin(2);
  feed(*forked, {450, 500}), feed(*straight, {450, 500});
  const auto expected = feed(*straight, {1, 1});
  forked->reorder(std::vector<int32_t>{0, 1, 1});
  const std::vector<int32_t> next{tokens(0, 450, 1)[0], tokens(1, 500, 1)[0], tokens(1, 500, 1)[0]};
  const std::vector<int32_t> offsets{0, 1, 2, 3};
  EXPECT_EQ(rows_of(model_->decode(*forked, next, offsets)),
            (std::vector<std::vector<float>>{expected[0], expected[1], expected[1]}));
}

// The loss of the last target is -log softmax of the logits after all tokens.
TEST_P(Windows, EqualTheWholeForward) {
  const auto cache = begin(2);
  const auto logits = feed(*cache, {kLength, kLength});
  Tape tape(context_, Tape::Mode::Off);
  ForwardContext forward{.tape = tape};
  for (int64_t r = 0; r < batch_.input->count(); ++r) {
    batch_.targets.data<int32_t>()[r] = r == kLength - 1 ? 3 : -1;
  }
  const LossSums sums = no_losses(context_);
  model_->loss(forward, batch_, {}, sums);
  double sum = 0;
  for (const float x : logits[0]) sum += std::exp(static_cast<double>(x));
  EXPECT_NEAR(sums.nll.data<double>()[0], std::log(sum) - static_cast<double>(logits[0][3]), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, Windows, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Seq2Seq" : "Gpt"); });

}  // namespace
}  // namespace weft
