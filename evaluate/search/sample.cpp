#include <algorithm>

#include "base/parallel_for.h"
#include "evaluate/search/candidates.h"
#include "evaluate/search/rules.h"
#include "evaluate/search/sampling.h"

namespace weft {
namespace {

// One text that grows: one row of the model.
struct Text {
  size_t index = 0;  // of the input in the batch
  int64_t sample = 0;
  const SearchInput* input = nullptr;
  int64_t max_new = 0;
  std::vector<int32_t> tokens;
  double log_probability = 0;
};

struct Choice {
  int32_t token = -1;  // -1: none is left
  double log_probability = 0;
};

class SampleSearch {
 public:
  SampleSearch(NextTokenModel& model, const SearchConfig& config, const SearchTokens& tokens,
               const SearchListener& listener)
      : model_(model), config_(config), tokens_(tokens), listener_(listener) {
    if (config_.method == SearchMethod::Greedy) config_.temperature = 0;
  }

  std::vector<NBest> run(std::span<const SearchInput* const> inputs) {
    std::vector<NBest> results(inputs.size(), NBest(config_.n_best));
    std::vector<int32_t> rows;  // texts_[i] reads the logits of rows[i]: at first the samples of an input share a row
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t max_new = max_new_tokens(config_, *inputs[i], model_.max_length());
      for (int64_t sample = 0; sample < config_.n_best; ++sample) {
        texts_.push_back({.index = i, .sample = sample, .input = inputs[i], .max_new = max_new});
        rows.push_back(static_cast<int32_t>(i));
      }
    }
    std::span<const float> logits = feed_prompts(model_, inputs);
    while (true) {
      const std::vector<Choice> choices = choose(logits, rows);
      std::vector<int32_t> parents, fed;
      size_t kept = 0;
      for (size_t i = 0; i < texts_.size(); ++i) {
        Text& text = texts_[i];
        if (const auto ending = extend(text, choices[i])) {
          results[text.index][text.sample] =
              make_hypothesis(config_, std::move(text.tokens), text.log_probability, text.log_probability, *ending);
          continue;
        }
        if (listener_.grown && text.sample == 0) listener_.grown(text.input->id, text.tokens);
        parents.push_back(rows[i]);
        fed.push_back(choices[i].token);
        if (kept != i) texts_[kept] = std::move(text);
        ++kept;
      }
      texts_.resize(kept);
      if (texts_.empty()) return results;
      model_.reorder(parents);
      logits = feed_tokens(model_, fed);
      rows.resize(kept);
      for (size_t i = 0; i < kept; ++i) rows[i] = static_cast<int32_t>(i);
    }
  }

 private:
  std::vector<Choice> choose(std::span<const float> logits, const std::vector<int32_t>& rows) {
    std::vector<Choice> choices(texts_.size());
    std::vector<double> log_sums(texts_.size());
    const size_t vocabulary = static_cast<size_t>(model_.vocabulary());
    parallel_tasks(model_.threads(), static_cast<int64_t>(texts_.size()), [&](int64_t i) {
      const Text& text = texts_[i];
      const std::span<const float> row = logits.subspan(rows[i] * vocabulary, vocabulary);
      log_sums[i] = log_sum_exp(row);
      const auto blocked = blocked_tokens(config_, tokens_, text.input->prompt, text.tokens);
      const double uniform =
          sampling_uniform(config_.seed, text.input->id, text.sample, static_cast<int64_t>(text.tokens.size()));
      std::vector<float> changed;
      const auto scores = penalised(config_, text.input->prompt, text.tokens, row, changed);
      const int32_t token = sample_token(scores, config_, blocked, uniform);
      choices[i] = {token, token < 0 ? 0 : static_cast<double>(row[token]) - log_sums[i]};
    });
    check_log_sums(log_sums);
    return choices;
  }

  std::optional<Ending> extend(Text& text, const Choice& choice) const {
    if (choice.token < 0) return Ending::Blocked;
    text.log_probability += choice.log_probability;
    if (tokens_.end && choice.token == *tokens_.end) return Ending::EndToken;
    text.tokens.push_back(choice.token);
    if (tokens_.stops && tokens_.stops(text.tokens)) return Ending::StopString;
    if (static_cast<int64_t>(text.tokens.size()) >= text.max_new) return Ending::MaxLength;
    return std::nullopt;
  }

  NextTokenModel& model_;
  SearchConfig config_;
  const SearchTokens& tokens_;
  const SearchListener& listener_;
  std::vector<Text> texts_;
};

}  // namespace

std::vector<NBest> sample_search(NextTokenModel& model, std::span<const SearchInput* const> inputs,
                                 const SearchConfig& config, const SearchTokens& tokens,
                                 const SearchListener& listener) {
  return SampleSearch(model, config, tokens, listener).run(inputs);
}

}  // namespace weft
