// SPDX-License-Identifier: Apache-2.0
// Compares choose_tokens with a sort in f64, for every rule.
#include "kernels/ops/choose_tokens.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "kernels/transfer.h"
#include "tests/kernels/fixture/check.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

constexpr float kNever = -std::numeric_limits<float>::infinity();

struct ChoiceCase {
  int64_t vocabulary;
  int64_t count = 1;
  bool rules = false;  // lists of blocked and repeated tokens, empty for some texts
  bool log_probabilities = false;
  bool ties = false;
  double scale = 1;
};

std::string case_name(const testing::TestParamInfo<ChoiceCase>& info) {
  const ChoiceCase& c = info.param;
  return fmt::format("{}_best{}{}{}{}", c.vocabulary, c.count, c.rules ? "_rules" : "",
                     c.log_probabilities ? "_log_probabilities" : "", c.ties ? "_ties" : "");
}

struct ChoiceProblem {
  int64_t vocabulary, texts = 5;
  std::vector<float> logits;  // 3 rows
  std::vector<int32_t> rows{2, 0, 1, 2, 1};
  std::vector<std::vector<int32_t>> blocked, repeated;

  explicit ChoiceProblem(const ChoiceCase& c) : vocabulary(c.vocabulary), blocked(texts), repeated(texts) {
    std::mt19937 random(static_cast<unsigned>(c.vocabulary + c.count));
    for (int64_t i = 0; i < 3 * vocabulary; ++i) {
      const float x = static_cast<float>(random() % (c.ties ? 5 : 1 << 20));
      logits.push_back(c.ties ? x - 2 : x / (1 << 17) - 4);
    }
    for (int64_t text = 1; c.rules && text < texts; ++text) {
      for (int32_t v = 0; v < vocabulary; ++v) {
        if (random() % 7 == 0) blocked[text].push_back(v);
        if (random() % 5 == 0) repeated[text].push_back(v);
      }
    }
  }
  std::span<const float> row(int64_t text) const {
    return std::span(logits).subspan(rows[text] * vocabulary, vocabulary);
  }
  ChoiceProblem last_text() const {
    ChoiceProblem alone = *this;
    alone.texts = 1;
    alone.rows = {rows.back()}, alone.blocked = {blocked.back()}, alone.repeated = {repeated.back()};
    return alone;
  }
  TextRules upload(Context& context) const {
    TextRules rules{.rows = integers(context, rows)};
    const auto lists = [&](const std::vector<std::vector<int32_t>>& of, Tensor& begins, Tensor& all) {
      std::vector<int32_t> ends{0}, tokens;
      for (const auto& list : of) {
        tokens.insert(tokens.end(), list.begin(), list.end());
        ends.push_back(static_cast<int32_t>(tokens.size()));
      }
      begins = integers(context, ends), all = integers(context, tokens);
    };
    lists(blocked, rules.blocked_begins, rules.blocked);
    lists(repeated, rules.repeated_begins, rules.repeated);
    return rules;
  }
};

constexpr double kPenalty = 1.5;

// The scores of a text after its rules. `log_sum` is the device's, so that the rest is exact.
std::vector<float> scores(const ChoiceProblem& p, int64_t text, const ChoiceCase& c, double log_sum) {
  std::vector<float> s;
  for (const float x : p.row(text)) s.push_back(c.log_probabilities ? static_cast<float>(x - log_sum) : x);
  for (const int32_t v : p.repeated[text]) {
    s[v] = s[v] > 0 ? s[v] / static_cast<float>(kPenalty) : s[v] * static_cast<float>(kPenalty);
  }
  for (const int32_t v : p.blocked[text]) s[v] = kNever;
  return s;
}

double log_sum_in_f64(std::span<const float> x, double scale) {
  double sum = 0;
  for (const float v : x) sum += std::exp(scale * v);
  return std::log(sum);
}

std::vector<double> answers(Context& context, const ChoiceProblem& p, ChooseTokens args) {
  args.logits = to_device(context, std::span<const float>(p.logits)).view({3, p.vocabulary});
  args.rules = p.upload(context);
  args.out = context.empty({p.texts, 2 + 3 * args.count}, DType::F64);
  choose_tokens(context, args);
  return {args.out.span<double>().begin(), args.out.span<double>().end()};
}

class Choose : public testing::TestWithParam<ChoiceCase> {
 protected:
  std::vector<double> run(const ChooseTokens& args) { return answers(context, p, args); }
  template <class T>
  Tensor on_device(const std::vector<T>& from) {
    return to_device(context, std::span<const T>(from));
  }

  OperationContext context;
  ChoiceProblem p{GetParam()};
};

TEST_P(Choose, BestTokensComeInOrder) {
  const ChoiceCase& c = GetParam();
  const double penalty = c.rules ? kPenalty : 1;
  const auto out = run({.count = c.count,
                        .log_probabilities = c.log_probabilities,
                        .penalty = penalty,
                        .scale = c.scale,
                        .masses = true});
  for (int64_t text = 0; text < p.texts; ++text) {
    const double* at = &out[text * (2 + 3 * c.count)];
    EXPECT_NEAR(at[0], log_sum_in_f64(p.row(text), 1), 2e-6);
    const std::vector<float> s = scores(p, text, c, at[0]);
    EXPECT_NEAR(at[1], log_sum_in_f64(s, c.scale), 4e-6);
    std::vector<int32_t> order;
    for (int32_t v = 0; v < p.vocabulary; ++v) {
      if (s[v] > kNever) order.push_back(v);
    }
    std::ranges::stable_sort(order, std::greater(), [&](int32_t v) { return s[v]; });
    for (int64_t i = 0; i < c.count; ++i) {
      const bool there = i < static_cast<int64_t>(order.size());
      ASSERT_EQ(at[2 + 3 * i], there ? order[i] : -1) << "text " << text << ", " << i;
      if (!there) continue;
      EXPECT_EQ(at[3 + 3 * i], s[order[i]]);
      EXPECT_EQ(at[4 + 3 * i], p.row(text)[order[i]]);
    }
  }
}

// A uniform slightly below a token's cumulated share draws the token, one slightly above it the next token with a
// share.
TEST_P(Choose, DrawsInvertTheDistribution) {
  const ChoiceCase& c = GetParam();
  const double penalty = c.rules ? kPenalty : 1;
  for (const double uniform : {0x1p-54, 0.1, 0.37, 0.5, 0.93, 1 - 0x1p-54}) {
    const std::vector<double> uniforms(static_cast<size_t>(p.texts), uniform);
    const auto out = run({.log_probabilities = c.log_probabilities,
                          .penalty = penalty,
                          .scale = c.scale,
                          .uniforms = on_device(uniforms)});
    for (int64_t text = 0; text < p.texts; ++text) {
      const double* at = &out[text * 5];
      const std::vector<float> s = scores(p, text, c, at[0]);
      const auto token = static_cast<int32_t>(at[2]);
      ASSERT_TRUE(token >= 0 && token < p.vocabulary);
      ASSERT_GT(s[token], kNever);
      const double mass = log_sum_in_f64(s, c.scale);
      double before = 0;
      for (int32_t v = 0; v < token; ++v) before += std::exp(c.scale * s[v] - mass);
      EXPECT_LE(before, uniform + 1e-5);
      EXPECT_GE(before + std::exp(c.scale * s[token] - mass), uniform - 1e-5);
      EXPECT_EQ(at[3], s[token]);
      EXPECT_EQ(at[4], p.row(text)[token]);
    }
  }
}

// A text's result does not depend on the number of threads, nor on the other texts of the call.
TEST_P(Choose, DoesNotDependOnThreadsOrOtherTexts) {
  const ChoiceCase& c = GetParam();
  const std::vector<double> uniforms{0.2, 0.4, 0.6, 0.8, 0.99};
  for (const bool drawn : {false, true}) {
    const ChooseTokens args{.count = drawn ? 1 : c.count, .scale = c.scale, .masses = true};
    const auto ask = [&](Context& on, const ChoiceProblem& of) {
      ChooseTokens asked = args;
      if (drawn) asked.uniforms = to_device(on, std::span(uniforms).last(static_cast<size_t>(of.texts)));
      return answers(on, of, asked);
    };
    const std::vector<double> all = ask(context, p);
    OperationContext four({}, 4);
    EXPECT_EQ(ask(four, p), all);
    const std::vector<double> last = ask(context, p.last_text());
    EXPECT_TRUE(std::ranges::equal(last, std::span(all).last(last.size())));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Choose,
                         testing::Values(ChoiceCase{1}, ChoiceCase{7, 7}, ChoiceCase{129, 6, true},
                                         ChoiceCase{129, 6, true, true}, ChoiceCase{300, 70, true, false, true},
                                         ChoiceCase{256, 3, false, false, true, 0.5},
                                         ChoiceCase{5003, 6, true, true, false, 2}, ChoiceCase{5003, 64},
                                         ChoiceCase{140001, 2, true}),
                         case_name);

// Logits with NaN or infinities.
TEST(ChooseTokens, DegenerateRows) {
  OperationContext context;
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = -kNever;
  const std::vector<float> logits{kNever, kNever, kNever, 1, nan, 2, 1, infinity, 0, kNever, 3, kNever, -0.0f, 0, -1};
  const Tensor x = to_device(context, std::span<const float>(logits)).view({5, 3});
  const TextRules rules{.rows = integers(context, {0, 1, 2, 3, 4}),
                        .blocked_begins = integers(context, {0, 0, 0, 0, 0, 0}),
                        .blocked = integers(context, {}),
                        .repeated_begins = integers(context, {0, 0, 0, 0, 0, 0}),
                        .repeated = integers(context, {})};
  const Tensor out = context.empty({5, 8}, DType::F64);
  choose_tokens(context, {.logits = x, .rules = rules, .count = 2, .out = out});
  const auto at = [&](int64_t text, int64_t column) { return out.span<double>()[text * 8 + column]; };
  EXPECT_EQ(at(0, 0), kNever);
  EXPECT_EQ(at(0, 2), -1);
  EXPECT_TRUE(std::isnan(at(1, 0)));
  EXPECT_TRUE(std::isnan(at(2, 0)));
  EXPECT_DOUBLE_EQ(at(3, 0), 3);
  EXPECT_EQ(at(3, 2), 1);
  EXPECT_EQ(at(3, 5), -1);
  EXPECT_EQ(at(4, 2), 0);  // 0 and -0 compare equal: the smaller token
  EXPECT_EQ(at(4, 5), 1);
}

TEST(ChooseTokens, MisfitsAreNamed) {
  Context context;
  const auto none = [&] { return integers(context, {0, 0}); };
  ChooseTokens args{.logits = context.zeros({1, 3}, DType::F32),
                    .rules = {.rows = integers(context, {0}),
                              .blocked_begins = none(),
                              .blocked = integers(context, {}),
                              .repeated_begins = none(),
                              .repeated = integers(context, {})},
                    .count = 4,
                    .out = context.empty({1, 14}, DType::F64)};
  EXPECT_NE(error_of([&] { choose_tokens(context, args); }).find("choose_tokens: 4 tokens of 3"), std::string::npos);
  args.count = 2;
  EXPECT_NE(error_of([&] { choose_tokens(context, args); }).find("out"), std::string::npos);
}

TEST(ChooseTokens, RunsDry) {
  Context dry({.kind = DeviceKind::Meta});
  const Tensor ints = dry.empty({3}, DType::I32);
  choose_tokens(dry, {.logits = dry.empty({1, 1000}, DType::F32),
                      .rules = {.rows = ints.slice(0, 2),
                                .blocked_begins = ints,
                                .blocked = ints.slice(0, 0),
                                .repeated_begins = ints,
                                .repeated = ints.slice(0, 0)},
                      .out = dry.empty({2, 5}, DType::F64)});
  EXPECT_EQ(dry.ledger().entries().at("choose_tokens").bytes, 2 * 1000 * 4 + 2 * 5 * 8);
}

}  // namespace
}  // namespace weft
