// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/parallel_for.h"
#include "generate/search/rules.h"
#include "generate/search/sampling.h"
#include "generate/search/waiting_inputs.h"
#include "generate/search/window.h"

namespace weft {
namespace {

// A text that is still growing; from its first token on it is one row of the model.
struct Text {
  size_t index = 0;  // index of its input in the batch
  int64_t sample = 0;
  const SearchInput* input = nullptr;
  int64_t max_new = 0;
  std::vector<int32_t> tokens;
  std::vector<double> token_log_probabilities;
  double log_probability = 0;
};

class SampleSearch {
 public:
  SampleSearch(NextTokenModel& model, const SearchConfig& config, const SearchTokens& tokens,
               const SearchListener& listener)
      : model_(model), config_(config), tokens_(tokens), listener_(listener) {
    if (config_.method == SearchMethod::Greedy) config_.temperature = 0;
  }

  std::vector<NBest> run(std::span<const SearchInput* const> inputs, int64_t at_once) {
    std::vector<int64_t> max_new;
    for (const SearchInput* input : inputs) max_new.push_back(max_new_tokens(config_, *input, model_.max_length()));
    results_.assign(inputs.size(), NBest(config_.n_best));
    unfinished_.assign(inputs.size(), config_.n_best);
    WaitingInputs waiting(model_, inputs, at_once);
    while (!texts_.empty() || !waiting.empty()) {
      std::vector<int32_t> rows;  // texts_[i] reads the logits of rows[i]: at first the samples of an input share a row
      for (size_t i = 0; i < texts_.size(); ++i) rows.push_back(static_cast<int32_t>(i));
      const auto admitted = waiting.admit(alive_);
      for (size_t i = 0, row = texts_.size(); i < admitted.count; ++i, ++row) {
        const size_t index = admitted.first + i;
        for (int64_t sample = 0; sample < config_.n_best; ++sample) {
          texts_.push_back({.index = index, .sample = sample, .input = inputs[index], .max_new = max_new[index]});
          rows.push_back(static_cast<int32_t>(row));
        }
      }
      alive_ += static_cast<int64_t>(admitted.count);
      waiting.feed(fed_, admitted);
      grow(rows);
    }
    return std::move(results_);
  }

 private:
  // Extends every text by one token; the texts that continue become the model's rows.
  void grow(const std::vector<int32_t>& rows) {
    const std::vector<SampledToken> choices = choose(rows);
    std::vector<int32_t> parents;
    size_t kept = 0;
    for (size_t i = 0; i < texts_.size(); ++i) {
      Text& text = texts_[i];
      if (const auto ending = extend(text, choices[i])) {
        finish(text, *ending);
        continue;
      }
      if (listener_.grown && text.sample == 0) listener_.grown(text.input->id, text.tokens);
      parents.push_back(rows[i]);
      if (kept != i) texts_[kept] = std::move(text);
      ++kept;
    }
    texts_.resize(kept);
    model_.reorder(parents);
    fed_ = {};
    for (size_t row = 0; row < texts_.size(); ++row) feed_next(texts_[row], static_cast<int32_t>(row));
  }

  // Lets a row see its text's last token; if the window slides, all tokens that are left in it.
  void feed_next(const Text& text, int32_t row) {
    const std::vector<int32_t>& prompt = text.input->prompt;
    const int64_t length = std::ssize(prompt) + std::ssize(text.tokens), positions = model_.max_length();
    const int64_t start = window_start(length, positions);
    if (start == window_start(length - 1, positions)) return fed_.add({&text.tokens.back(), 1});
    model_.clear(row);
    std::vector<int32_t> window = prompt;
    window.insert(window.end(), text.tokens.begin(), text.tokens.end());
    fed_.add(std::span<const int32_t>(window).subspan(static_cast<size_t>(start)));
  }

  void finish(Text& text, Ending ending) {
    results_[text.index][text.sample] =
        make_hypothesis(config_, std::move(text.tokens), std::move(text.token_log_probabilities), text.log_probability,
                        text.log_probability, ending);
    if (--unfinished_[text.index] > 0) return;
    --alive_, ++done_;
    if (listener_.progress) listener_.progress(done_);
  }

  std::vector<SampledToken> choose(const std::vector<int32_t>& rows) {
    std::vector<TokenQuestion> questions(texts_.size());
    parallel_tasks(model_.threads(), static_cast<int64_t>(texts_.size()), [&](int64_t i) {
      const Text& text = texts_[i];
      questions[i] = question_of(config_, tokens_, *text.input, text.tokens, rows[i]);
      questions[i].uniform =
          sampling_uniform(config_.seed, text.input->id, text.sample, static_cast<int64_t>(text.tokens.size()));
    });
    return sample_tokens(model_, questions, config_);
  }

  std::optional<Ending> extend(Text& text, const SampledToken& choice) const {
    if (choice.token < 0) return Ending::Blocked;
    text.log_probability += choice.log_probability;
    text.token_log_probabilities.push_back(choice.log_probability);
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
  FedTokens fed_;  // what the model's rows have not seen of the texts
  std::vector<NBest> results_;
  std::vector<int64_t> unfinished_;  // unfinished texts of each input
  int64_t alive_ = 0, done_ = 0;     // counts of inputs
};

}  // namespace

std::vector<NBest> sample_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                                 const SearchConfig& config, const SearchTokens& tokens,
                                 const SearchListener& listener) {
  return SampleSearch(model, config, tokens, listener).run(inputs, at_once);
}

}  // namespace weft
