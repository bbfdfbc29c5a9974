// SPDX-License-Identifier: Apache-2.0
#include "generate/search/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/hash.h"
#include "base/philox.h"
#include "generate/search/rules.h"

namespace weft {
namespace {

// Below this temperature, logits differ by more than exp() can represent unless they are equal: only the best token
// keeps any probability, and the sums that a draw needs would cancel.
constexpr double kColdest = 1e-10;
constexpr int64_t kFirstNucleus = 64;  // candidates that hold most nuclei; a larger one is sought among 8 times as many

SampledToken sampled(const TokenAnswer& answer, size_t index) {
  const ChosenToken& c = answer.chosen[index];
  return {.token = c.token, .log_probability = static_cast<double>(c.logit) - answer.log_sum};
}

// Draws among the answer's best tokens; `all`: there are no others. Empty if the nucleus may reach beyond them.
std::optional<SampledToken> draw_among(const TokenAnswer& answer, bool all, double uniform,
                                       const SearchConfig& config) {
  if (answer.chosen.empty()) return SampledToken{};
  const double inverse_temperature = 1 / config.temperature;
  const double shift = static_cast<double>(answer.chosen.front().score) * inverse_temperature;
  std::vector<double> cumulative;  // in units of the best token's probability
  double sum = 0;
  for (const ChosenToken& c : answer.chosen) {
    cumulative.push_back(sum += std::exp(static_cast<double>(c.score) * inverse_temperature - shift));
  }
  // Without top_k, top_p is a share of all tokens that are not blocked; with top_k, it is a share of the k best.
  const double total = config.top_k > 0 ? sum : std::exp(answer.log_mass - shift);
  const auto nucleus_end = std::lower_bound(cumulative.begin(), cumulative.end(), config.top_p * total);
  if (nucleus_end == cumulative.end() && !all) return std::nullopt;
  const int64_t kept =
      std::min<int64_t>(nucleus_end - cumulative.begin() + 1, static_cast<int64_t>(answer.chosen.size()));
  const auto drawn = std::lower_bound(cumulative.begin(), cumulative.begin() + kept, uniform * cumulative[kept - 1]);
  return sampled(answer, std::min<int64_t>(drawn - cumulative.begin(), kept - 1));
}

// Draws a token for each question from the whole distribution, or takes the most probable token.
std::vector<SampledToken> take_one(NextTokenModel& model, const std::vector<TokenQuestion>& questions,
                                   const SearchConfig& config) {
  const bool draw = config.temperature >= kColdest;
  const auto answers = model.choose(
      questions, {.penalty = config.repetition_penalty, .scale = draw ? 1 / config.temperature : 1, .draw = draw});
  check_log_sums(answers);
  std::vector<SampledToken> tokens;
  for (const TokenAnswer& answer : answers) {
    tokens.push_back(answer.chosen.empty() ? SampledToken{} : sampled(answer, 0));
  }
  return tokens;
}

}  // namespace

double sampling_uniform(int64_t seed, int64_t input, int64_t sample, int64_t position) {
  const Philox philox(hash64("sampling", static_cast<uint64_t>(seed)));
  const auto id = static_cast<uint64_t>(input);
  const Philox::Counter bits = philox({static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32),
                                       static_cast<uint32_t>(sample), static_cast<uint32_t>(position)});
  const uint64_t word = uint64_t{bits[0]} << 32 | bits[1];
  return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53;
}

std::vector<SampledToken> sample_tokens(NextTokenModel& model, const std::vector<TokenQuestion>& questions,
                                        const SearchConfig& config) {
  const bool nucleus = config.top_k == 0;
  if (config.temperature < kColdest || (nucleus && config.top_p >= 1)) return take_one(model, questions, config);
  std::vector<SampledToken> tokens(questions.size());
  std::vector<size_t> open(questions.size());  // indices of questions that have no token yet
  std::iota(open.begin(), open.end(), 0);
  for (int64_t count = nucleus ? kFirstNucleus : config.top_k; !open.empty(); count *= 8) {
    std::vector<TokenQuestion> asked;
    for (const size_t i : open) asked.push_back(questions[i]);
    const auto answers = model.choose(
        asked,
        {.count = count, .penalty = config.repetition_penalty, .scale = 1 / config.temperature, .masses = nucleus});
    check_log_sums(answers);
    const bool all = !nucleus || count >= model.vocabulary();
    std::vector<size_t> left;
    for (size_t i = 0; i < open.size(); ++i) {
      const auto drawn = draw_among(answers[i], all, asked[i].uniform, config);
      if (drawn) tokens[open[i]] = *drawn;
      if (!drawn) left.push_back(open[i]);
    }
    open = std::move(left);
  }
  return tokens;
}

}  // namespace weft
