// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "generate/search/model_decoder.h"
#include "generate/search/search.h"
#include "generate/search/window.h"
#include "parallel/local/in_process.h"
#include "tests/model/fixture/model.h"
#include "tests/support/guarded_context.h"

// Searches with weft's own models: the texts of a sentence depend on nothing but the sentence.
namespace weft {
namespace {

using namespace test;

constexpr int32_t kStart = 1, kEnd = 0;

struct Decoder {
  std::unique_ptr<Context> context;
  Mesh mesh = Mesh::single();
  std::unique_ptr<Transformer> model;
  std::vector<std::vector<int32_t>> sources;
  std::vector<SearchInput> inputs;

  Decoder(bool seq2seq, Precision precision, bool guarded = false) : context(test_context(guarded, 2)) {
    TransformerConfig config = test::small_config(seq2seq);
    if (seq2seq) config.init_std = 0.5;  // wide enough that an untrained decoder's texts differ by their sources
    model = make_model(*context, mesh, {.config = config, .vocabularies = test::small_vocabularies(seq2seq)});
    model->allocate(precision, Purpose::Inference);
    model->parameters().initialise(5);
    std::mt19937 random(3);
    for (int64_t i = 0; i < 19; ++i) {
      std::vector<int32_t> tokens;
      for (unsigned n = 1 + random() % 9; n > 0; --n) tokens.push_back(static_cast<int32_t>(2 + random() % 9));
      SearchInput input{.id = i, .prompt = {kStart}};
      if (seq2seq) {
        input.source_length = static_cast<int64_t>(tokens.size());
        sources.push_back(tokens);
      } else {
        input.prompt.insert(input.prompt.end(), tokens.begin(),
                            tokens.begin() + static_cast<int64_t>(random() % 5) % static_cast<int64_t>(tokens.size()));
      }
      inputs.push_back(input);
    }
  }

  std::vector<NBest> run(const std::vector<size_t>& which, const SearchConfig& config) {
    std::vector<SearchInput> some;
    std::vector<std::vector<int32_t>> some_sources;
    for (const size_t i : which) {
      some.push_back(inputs[i]);
      if (!sources.empty()) some_sources.push_back(sources[i]);
    }
    return search(some, decoder_factory(*model, some_sources), config, {.end = kEnd, .suppressed = {kStart}});
  }
};

class ModelSearch : public testing::TestWithParam<std::tuple<bool, Precision, SearchMethod>> {};

TEST_P(ModelSearch, TextDoesNotDependOnBatchOrderOrNBest) {
  const auto [seq2seq, precision, method] = GetParam();
  Decoder decoder(seq2seq, precision);
  SearchConfig config{.method = method, .beam = 4, .no_repeat_ngram = 3, .max_length_extra = 8};
  if (method != SearchMethod::Greedy) config.n_best = 3;
  std::vector<size_t> order(decoder.inputs.size());
  std::iota(order.begin(), order.end(), 0);
  const auto together = decoder.run(order, config);
  std::set<std::vector<int32_t>> distinct;
  for (const NBest& texts : together) distinct.insert(texts[0].tokens);
  EXPECT_GT(distinct.size(), seq2seq ? 9u : 6u);  // enough different texts to compare

  std::mt19937 random(8);
  std::shuffle(order.begin(), order.end(), random);
  config.batch_tokens = 110;
  config.batch_sentences = 5;  // a sentence that ends makes room for the next one
  const auto mixed = decoder.run(order, config);
  config.n_best = 1;
  config.batch_sentences = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    const NBest& expected = together[order[i]];
    const NBest alone = decoder.run({order[i]}, config)[0];
    ASSERT_EQ(mixed[i].size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      EXPECT_EQ(mixed[i][k].tokens, expected[k].tokens);
      EXPECT_EQ(mixed[i][k].log_probability, expected[k].log_probability);
    }
    EXPECT_EQ(alone[0].tokens, expected[0].tokens);
    EXPECT_EQ(alone[0].log_probability, expected[0].log_probability);
  }
}

// Texts are made on the host; the device is read once for each position, whatever is decoded there.
class CountingModel : public NextTokenModel {
 public:
  CountingModel(std::unique_ptr<NextTokenModel> model, int64_t& calls) : model_(std::move(model)), calls_(calls) {}
  int64_t vocabulary() const override { return model_->vocabulary(); }
  int64_t max_length() const override { return model_->max_length(); }
  int64_t num_rows() const override { return model_->num_rows(); }
  void admit(int64_t count) override { model_->admit(count); }
  void advance(std::span<const int32_t> tokens, std::span<const int32_t> offsets) override {
    ++calls_;
    model_->advance(tokens, offsets);
  }
  std::vector<TokenAnswer> choose(std::span<const TokenQuestion> questions, const TokenChoice& choice) override {
    return model_->choose(questions, choice);
  }
  void reorder(std::span<const int32_t> parents) override { model_->reorder(parents); }
  void clear(int32_t row) override { model_->clear(row); }

 private:
  std::unique_ptr<NextTokenModel> model_;
  int64_t& calls_;
};

TEST_P(ModelSearch, AGuardedDeviceGivesTheSameTextsAndIsReadOnceAPosition) {
  const auto [seq2seq, precision, method] = GetParam();
  Decoder plain(seq2seq, precision), guarded(seq2seq, precision, true);
  const SearchConfig config{.method = method, .beam = 4, .no_repeat_ngram = 3, .max_length_extra = 8};
  std::vector<size_t> all(plain.inputs.size());
  std::iota(all.begin(), all.end(), 0);
  const auto expected = plain.run(all, config);
  int64_t calls = 0;
  const ModelFactory factory = decoder_factory(*guarded.model, guarded.sources);
  const auto counting = [&](const DecodingBatch& batch) {
    return std::make_unique<CountingModel>(factory(batch), calls);
  };
  const auto texts = search(guarded.inputs, counting, config, {.end = kEnd, .suppressed = {kStart}});
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(texts[i][0].tokens, expected[i][0].tokens);
    EXPECT_EQ(texts[i][0].log_probability, expected[i][0].log_probability);
  }
  EXPECT_GT(calls, 5);
  EXPECT_EQ(guarded.context->ledger().entries().at("download").calls, calls);
}

std::string name_of(const testing::TestParamInfo<std::tuple<bool, Precision, SearchMethod>>& info) {
  const auto [seq2seq, precision, method] = info.param;
  return fmt::format("{}{}_{}", seq2seq ? "Seq2Seq" : "Gpt", precision == Precision::Bf16 ? "Bf16" : "Fp32",
                     enum_name(method));
}

INSTANTIATE_TEST_SUITE_P(Models, ModelSearch,
                         testing::Combine(testing::Bool(), testing::Values(Precision::Fp32, Precision::Bf16),
                                          testing::Values(SearchMethod::Beam, SearchMethod::Greedy,
                                                          SearchMethod::Sample)),
                         name_of);

// If ranks divide the vocabulary, each rank has whole rows of logits, and chooses the same tokens as the others.
TEST(ModelSearchLayouts, RanksOfADividedVocabularyFindTheSameTexts) {
  TransformerConfig config = test::small_config(false);
  config.heads = 2;
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    std::array<std::vector<int32_t>, 2> tokens;
    std::array<double, 2> log_probability{};
    run_in_process({.dp = 1, .tp = 2}, [&](Mesh& mesh, int rank) {
      Context context;
      const auto model = make_model(context, mesh, {.config = config, .vocabularies = {.target = 30}});
      model->allocate(Precision::Fp32, Purpose::Inference);
      model->parameters().initialise(5);
      const std::vector<SearchInput> inputs{{.id = 4, .prompt = {kStart, 7}}};
      const SearchConfig how{.method = method, .beam = 3, .repetition_penalty = 1.3, .max_length_extra = 12};
      const NBest texts = search(inputs, decoder_factory(*model), how, {.suppressed = {kStart}}).front();
      tokens[rank] = texts[0].tokens, log_probability[rank] = texts[0].log_probability;
    });
    EXPECT_EQ(tokens[0].size(), 12u);
    EXPECT_GT(*std::ranges::max_element(tokens[0]), 15);  // a token of the second rank's part
    EXPECT_EQ(tokens[0], tokens[1]);
    EXPECT_EQ(log_probability[0], log_probability[1]);
  }
}

// The model's positions bound prompt and text of a beam search together.
TEST(ModelSearchLimits, TextsEndWithThePositions) {
  Decoder decoder(false, Precision::Fp32);
  for (SearchInput& input : decoder.inputs) input.prompt.resize(5, 3);
  std::vector<size_t> all(decoder.inputs.size());
  std::iota(all.begin(), all.end(), 0);
  const SearchConfig config{.method = SearchMethod::Beam, .beam = 2, .max_length_extra = 1000};
  for (const NBest& texts : decoder.run(all, config)) {
    EXPECT_LE(texts[0].tokens.size(), 12u);  // 16 positions hold 5 + 11 tokens; the twelfth is never fed
    if (texts[0].ending == Ending::MaxLength) {
      EXPECT_EQ(texts[0].tokens.size(), 12u);
    }
  }
}

// The most probable token after the last tokens of a history, by a decoder that has seen nothing else.
int32_t next_token_of(Transformer& model, std::span<const int32_t> seen) {
  const std::array<int64_t, 1> alone{0};
  const auto fresh = decoder_factory(model)(
      {.sentences = alone, .max_sentences = 1, .max_rows = 1, .capacity = model.config().max_length});
  fresh->admit(1);
  const std::array<int32_t, 2> offsets{0, static_cast<int32_t>(seen.size())};
  fresh->advance(seen, offsets);
  const TokenQuestion question{.blocked = {kEnd, kStart}};
  return fresh->choose({&question, 1}, {.count = 1}).front().chosen.front().token;
}

// Prompts that fit the 16 positions and prompts that do not, decoded side by side.
TEST(ModelSearchLimits, AWindowThatSlidesIsReadFromItsFirstPosition) {
  Decoder decoder(false, Precision::Fp32);
  std::vector<size_t> some{0, 1, 2, 3, 4};
  for (const size_t i : some) decoder.inputs[i].prompt.resize(1 + 7 * i, static_cast<int32_t>(3 + i));
  const SearchConfig config{.method = SearchMethod::Greedy, .max_length_factor = 0, .max_length_extra = 40};
  std::vector<SearchInput> inputs(decoder.inputs.begin(), decoder.inputs.begin() + 5);
  const auto found = search(inputs, decoder_factory(*decoder.model), config, {.suppressed = {kEnd, kStart}});
  for (const size_t i : some) {
    std::vector<int32_t> history = inputs[i].prompt;
    for (const int32_t token : found[i][0].tokens) {
      const auto start = static_cast<size_t>(window_start(std::ssize(history), 16));
      EXPECT_EQ(token, next_token_of(*decoder.model, std::span<const int32_t>(history).subspan(start)));
      history.push_back(token);
    }
    EXPECT_EQ(found[i][0].tokens.size(), 40u);
    EXPECT_GT(std::set<int32_t>(history.end() - 40, history.end()).size(), 1u)
        << "one token repeated would prove little";
  }
}

}  // namespace
}  // namespace weft
