// SPDX-License-Identifier: Apache-2.0
// Given texts under a language model: their likelihoods, the likelier of several endings, their vectors.
#include "evaluate/likelihood.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hdf5.h"
#include "evaluate/likelihood_requests.h"
#include "evaluate/multiple_choice.h"
#include "generate/next_tokens.h"
#include "generate/text_vectors.h"
#include "kernels/transfer.h"
#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// A language model of characters with 8 positions.
struct ScoredText : testing::Test {
  using MakeRun = SmallRun(const Scratch&);
  explicit ScoredText(MakeRun make = [](const Scratch& scratch) { return SmallRun(scratch); }) : run(make(scratch)) {
    run.train();
  }
  std::vector<int32_t> encode(const std::string& text) const { return loaded().target_tokenizer->encode(text); }
  const LoadedModel& loaded() const {
    if (!model) model = std::make_unique<LoadedModel>(load_model(context, mesh, run.directory()));
    return *model;
  }
  // The log-likelihood, token by token, from the probabilities of the candidates.
  double by_candidates(std::string context_text, const std::string& text) const {
    double sum = 0;
    for (const char c : text) {
      const auto next = next_tokens(text_generator(loaded()), {context_text}, 1000);
      for (const NextToken& candidate : next[0]) {
        if (candidate.text == std::string(1, c)) sum += std::log(candidate.probability);
      }
      context_text += c;
    }
    return sum;
  }

  Scratch scratch;
  SmallRun run;
  mutable Context context{Device{}, 1};
  mutable Mesh mesh = Mesh::single();
  mutable std::unique_ptr<LoadedModel> model;
};

TEST_F(ScoredText, IsAsLikelyAsItsTokensOneAfterAnother) {
  const std::vector<Continuation> texts{{encode("the "), encode("boat")}, {encode("t"), encode("h")}};
  const std::vector<Likelihood> found = likelihoods(*loaded().model, texts);
  EXPECT_NEAR(found[0].log_probability, by_candidates("the ", "boat"), 1e-4);
  EXPECT_NEAR(found[1].log_probability, by_candidates("t", "h"), 1e-4);
  // A text alone has the same likelihood within rounding.
  EXPECT_NEAR(likelihoods(*loaded().model, std::span(texts).last(1))[0].log_probability, found[1].log_probability,
              1e-6);
  EXPECT_TRUE(likelihoods(*loaded().model, {}).empty());
}

// Greedy are the tokens that search would choose, one after another.
TEST_F(ScoredText, IsGreedyIfEachTokenIsTheLikeliest) {
  std::string chosen;
  for (int i = 0; i < 3; ++i) chosen += next_tokens(text_generator(loaded()), {"the " + chosen}, 1)[0][0].text;
  const auto other = next_tokens(text_generator(loaded()), {"the "}, 2)[0][1].text + chosen.substr(1);
  const std::vector<Continuation> texts{
      {encode("the "), encode(chosen)}, {encode("the "), encode(other)}, {encode("the "), encode(chosen.substr(0, 1))}};
  const std::vector<Likelihood> found = likelihoods(*loaded().model, texts);
  EXPECT_TRUE(found[0].greedy);
  EXPECT_FALSE(found[1].greedy);
  EXPECT_TRUE(found[2].greedy);
}

TEST_F(ScoredText, LosesTheBeginningOfALongContext) {
  // The 8 positions hold the last 5 tokens of the context and 3 of the 4 scored tokens; the last is not fed.
  const std::vector<Continuation> texts{{encode("boats went the "), encode("boat")}, {encode(" the "), encode("boat")}};
  const std::vector<Likelihood> found = likelihoods(*loaded().model, texts);
  EXPECT_EQ(found[0], found[1]);
  const std::vector<Continuation> long_one{{encode("t"), encode("the boats")}};
  EXPECT_NE(error_of<DataError>([&] { likelihoods(*loaded().model, long_one); }).find("9 tokens"), std::string::npos);
}

TEST_F(ScoredText, DependsOnNoLayout) {
  std::vector<Continuation> texts;
  // They fill more batches than there are replicas.
  const std::array<const char*, 5> endings = {"boat", "went", "by", "10 b", "s"};
  for (int i = 0; i < 1500; ++i) texts.push_back({encode("the "), encode(endings[i % endings.size()])});
  const std::vector<Likelihood> alone = likelihoods(*loaded().model, texts);
  for (const auto& [dp, tp] : {std::pair{2, 1}, {3, 1}, {1, 2}, {2, 2}}) {
    run_in_process({.dp = dp, .tp = tp}, [&, tp = tp](Mesh& ranks, int) {
      Context own(Device{}, 1);
      const LoadedModel part = load_model(own, ranks, run.directory());
      const std::vector<Likelihood> found = likelihoods(*part.model, texts);
      for (size_t i = 0; i < texts.size(); ++i) {
        EXPECT_NEAR(found[i].log_probability, alone[i].log_probability, tp == 1 ? 0 : 1e-5);
        EXPECT_EQ(found[i].greedy, alone[i].greedy);
      }
    });
  }
}

// The same with a token that ends documents, which the text of a request without context stands behind.
struct ScoredDocument : ScoredText {
  static SmallRun with_end(const Scratch& scratch) {
    SmallRun run(scratch);
    run.job().tokenizer.specials = {"<end>"}, run.job().tokenizer.eos = "<end>";
    run.job().data.directory = (scratch / "documents").string();
    prepare(run.job().text());
    return run;
  }
  ScoredDocument() : ScoredText(with_end) {}
};

LikelihoodRequest request_of(const std::string& line) { return parse_likelihood_request(line, "here"); }

// A text by itself is scored behind the special that begins a document, in pieces that fit the positions.
TEST_F(ScoredDocument, AnswersRequests) {
  const std::vector<LikelihoodAnswer> answers = answer_likelihoods(
      loaded(),
      {request_of(R"({"context": "the ", "continuation": "boat"})"), request_of(R"({"text": "the boats went by"})"),
       request_of(R"({"context": "", "continuation": "the"})"), request_of(R"({"text": "the"})")});
  ASSERT_EQ(answers.size(), 4u);
  const auto scored = [&](const std::string& before, const std::string& text) {
    const std::vector<int32_t> context = before.empty() ? text_generator(loaded()).prompt("") : encode(before);
    return likelihoods(*loaded().model, std::vector<Continuation>{{context, encode(text)}})[0].log_probability;
  };
  EXPECT_EQ(answers[0].likelihood.log_probability, scored("the ", "boat"));
  EXPECT_EQ(answers[0].tokens, 4);
  EXPECT_EQ(answers[1].tokens, 17);
  EXPECT_NEAR(answers[1].likelihood.log_probability,
              scored("", "the boat") + scored("the boat", "s went b") + scored("the boats went b", "y"), 1e-9);
  EXPECT_EQ(answers[2].likelihood, answers[3].likelihood);
}

TEST(LikelihoodRequests, AreNamedWhereTheyAreNone) {
  for (const char* line : {"", "[]", "{}", R"({"context": "a"})", R"({"continuation": "a"})", R"({"text": ""})",
                           R"({"context": "a", "continuation": ""})", R"({"context": 1, "continuation": "a"})",
                           R"({"text": "a", "context": "b"})"}) {
    EXPECT_NE(error_of<DataError>([&] { request_of(line); }).find("here: no"), std::string::npos) << line;
  }
}

TEST_F(ScoredDocument, RefusesRequestsThatItCannotScore) {
  const std::vector<LikelihoodRequest> requests = {request_of(R"({"text": "the"})"),
                                                   request_of(R"({"context": "t", "continuation": "the boats"})")};
  EXPECT_NE(
      error_of<DataError>([&] { answer_likelihoods(loaded(), requests); }).find("request 2: its continuation has 9"),
      std::string::npos);
}

TEST_F(ScoredText, ChoosesTheLikeliestEnding) {
  std::string lines;
  std::vector<std::array<double, 2>> sums;
  const std::vector<std::array<std::string, 2>> endings{{"boat", "s"}, {"by", "wwww"}, {"1", "went"}};
  for (const auto& pair : endings) {
    lines += nlohmann::json({{"ctx", "the"}, {"endings", pair}, {"label", 0}, {"ind", 3}}).dump() + "\n";
    sums.push_back({by_candidates("the", " " + pair[0]), by_candidates("the", " " + pair[1])});
  }
  const ChoiceReport report =
      answer_questions(text_generator(loaded()), read_questions(scratch.write("questions.jsonl", lines)));
  int64_t right_by_sum = 0, right_by_token = 0;
  for (size_t i = 0; i < endings.size(); ++i) {
    const auto mean = [&](int which) { return sums[i][which] / (endings[i][which].size() + 1); };
    EXPECT_EQ(report.chosen[i].by_sum, sums[i][0] > sums[i][1] ? 0u : 1u);
    EXPECT_EQ(report.chosen[i].by_token, mean(0) > mean(1) ? 0u : 1u);
    EXPECT_EQ(report.chosen[i].by_byte,
              sums[i][0] / endings[i][0].size() > sums[i][1] / endings[i][1].size() ? 0u : 1u);
    right_by_sum += sums[i][0] > sums[i][1], right_by_token += mean(0) > mean(1);
  }
  EXPECT_EQ(report.questions, 3);
  EXPECT_EQ(report.right_by_sum, right_by_sum);
  EXPECT_EQ(report.right_by_token, right_by_token);
  EXPECT_EQ(nlohmann::ordered_json(report)["accuracy"], static_cast<double>(right_by_sum) / 3);
  EXPECT_NE(report.format().find("3 questions"), std::string::npos);
}

// More questions than are answered between two calls of give_up are all answered, and the perplexity is of whole words.
TEST_F(ScoredText, FindsLastWords) {
  QuestionSet set{.form = QuestionForm::LastWord, .questions = {{.context = "the", .endings = {"boat"}}}};
  set.questions.resize(70, {.context = "by", .endings = {"s"}});
  const ChoiceReport report = answer_questions(text_generator(loaded()), set);
  const double boat = by_candidates("the", " boat"), s = by_candidates("by", " s");
  EXPECT_EQ(report.questions, 70);
  EXPECT_NEAR(report.word_perplexity(), std::exp(-(boat + 69 * s) / 70), 1e-4);
  EXPECT_EQ(nlohmann::ordered_json(report)["perplexity"], report.word_perplexity());
  EXPECT_NE(report.format().find("70 texts"), std::string::npos);
}

// The model has learnt that a space stands behind "the".
TEST_F(ScoredText, KnowsALastWordIfEachTokenIsTheLikeliest) {
  SmallRun taught(scratch, "taught");
  taught.job().train.max_steps = 120;
  taught.train();
  const LoadedModel knowing = load_model(context, mesh, taught.directory());
  const TextGenerator generator = text_generator(knowing);
  std::string word;
  ASSERT_EQ(next_tokens(generator, {"the"}, 1)[0][0].text, " ");
  for (int i = 0; i < 3; ++i) word += next_tokens(generator, {"the " + word}, 1)[0][0].text;
  QuestionSet set{.form = QuestionForm::LastWord, .questions = {{.context = "the", .endings = {word}}}};
  EXPECT_EQ(answer_questions(generator, set).right_by_sum, 1);
  word[1] = word[1] == 'w' ? 'y' : 'w';
  set.questions[0].endings = {word};
  EXPECT_EQ(answer_questions(generator, set).right_by_sum, 0);
}

TEST_F(ScoredText, IsGivenUpBetweenQuestions) {
  QuestionSet set{.name = "many"};
  set.questions.resize(130, {.context = "the", .endings = {"boat", "s"}});
  int calls = 0;
  EXPECT_TRUE(answer_questions(text_generator(loaded()), set, [&] { return ++calls == 3; }).given_up);
  EXPECT_FALSE(answer_questions(text_generator(loaded()), set, [&] { return ++calls == 3; }).given_up);
  EXPECT_EQ(calls, 6);
}

TEST_F(ScoredText, HasAVectorOfItsOwn) {
  const std::vector<std::string> texts{"the", "boats", "went by"};
  for (const VectorSource source : {VectorSource::States, VectorSource::Tokens}) {
    const VectorRows all = text_vectors(loaded(), texts, source);
    EXPECT_EQ(all.width, 16);
    EXPECT_EQ(all.count(), 3);
    const VectorRows alone = text_vectors(loaded(), {texts[1]}, source);
    EXPECT_TRUE(std::ranges::equal(alone.row(0), all.row(1)));
  }
  // The mean of a text's tokens is the mean of their own vectors.
  const VectorRows mean = text_vectors(loaded(), {"by"}, VectorSource::Tokens);
  const VectorRows one = text_vectors(loaded(), {"b", "y"}, VectorSource::Tokens);
  for (int64_t c = 0; c < 16; ++c) EXPECT_NEAR(mean.row(0)[c], (one.row(0)[c] + one.row(1)[c]) / 2, 1e-7);
  EXPECT_NE(error_of<DataError>([&] {
              text_vectors(loaded(), {"the", ""}, VectorSource::States);
            }).find("text 2 is empty"),
            std::string::npos);
  EXPECT_NE(error_of<DataError>([&] { text_vectors(loaded(), {"the boats"}, VectorSource::States); }).find("9 tokens"),
            std::string::npos);
  EXPECT_NE(error_of<DataError>([&] { text_vectors(loaded(), {}, VectorSource::States); }).find("no text"),
            std::string::npos);
}

TEST_F(ScoredText, VectorsAreComparedAndStored) {
  const VectorRows vectors{.width = 2, .values = {3, 0, 0, 0.5f, -1, 1, 0, 0}};
  const std::vector<double> cosines = cosine_similarities(vectors);
  const double half = std::sqrt(0.5);
  const std::array<double, 16> expected{1, 0, -half, 0, 0, 1, half, 0, -half, half, 1, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(cosines[i], expected[i], 1e-12) << i;
  write_vectors(scratch / "v.h5", vectors, cosines);
  const Hdf5File file = Hdf5File::open(scratch / "v.h5");
  const Hdf5Array array = file.array("/vectors");
  EXPECT_EQ(array.shape, (std::vector<int64_t>{4, 2}));
  std::vector<float> back(8);
  File(scratch / "v.h5", File::Mode::Read).read_at(array.offset, back.data(), 32);
  EXPECT_EQ(back, vectors.values);
  EXPECT_EQ(file.array("/similarities").shape, (std::vector<int64_t>{4, 4}));
}

}  // namespace
}  // namespace weft
