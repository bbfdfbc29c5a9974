// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "base/parallel_for.h"
#include "generate/search/rules.h"
#include "generate/search/waiting_inputs.h"

namespace weft {
namespace {

struct Living {
  std::vector<int32_t> text;
  std::vector<double> token_log_probabilities;
  double log_probability = 0;
  double ranking = 0;  // log_probability after the repetition penalty
};

// One sentence of the batch. Its living hypotheses are neighbouring rows of the model, the better ones first.
struct Sentence {
  size_t index = 0;  // index of the input in the batch
  const SearchInput* input = nullptr;
  int64_t max_new = 0;
  std::vector<Living> living;
  NBest ended;  // the best `beam` ended hypotheses, best first
};

// A continuation of a row by one of its best beam + 1 tokens, with the log-probability of the resulting text.
struct Continuation {
  double ranking;
  double log_probability;
  double token_log_probability;
  int32_t row;  // index among the sentence's living hypotheses
  int32_t token;
};

// Of equal hypotheses, the first found ranks first. Complete translations rank before cut ones; texts of a language
// model, which are cut somewhere anyway, are ranked together.
bool ranks_before(const SearchInput& input, const Hypothesis& a, const Hypothesis& b) {
  const bool a_complete = is_complete(a.ending), b_complete = is_complete(b.ending);
  return input.source_length && a_complete != b_complete ? a_complete : a.score > b.score;
}

class BeamSearch {
 public:
  BeamSearch(NextTokenModel& model, const SearchConfig& config, const SearchTokens& tokens,
             const SearchListener& listener)
      : model_(model), config_(config), tokens_(tokens), listener_(listener) {}

  std::vector<NBest> run(std::span<const SearchInput* const> inputs, int64_t at_once) {
    std::vector<int64_t> max_new;
    for (const SearchInput* input : inputs) max_new.push_back(max_new_tokens(config_, *input, model_.max_length()));
    std::vector<NBest> results(inputs.size());
    int64_t done = 0;
    WaitingInputs waiting(model_, inputs, at_once);
    while (!sentences_.empty() || !waiting.empty()) {
      const auto admitted = waiting.admit(static_cast<int64_t>(sentences_.size()));
      for (size_t i = admitted.first; i < admitted.first + admitted.count; ++i) {
        sentences_.push_back({.index = i, .input = inputs[i], .max_new = max_new[i], .living = {Living{}}});
      }
      waiting.feed(fed_, admitted);
      step();
      std::erase_if(sentences_, [&](Sentence& sentence) {
        if (!sentence.living.empty()) return false;
        if (static_cast<int64_t>(sentence.ended.size()) > config_.n_best) sentence.ended.resize(config_.n_best);
        results[sentence.index] = std::move(sentence.ended);
        if (++done; listener_.progress) listener_.progress(done);
        return true;
      });
      model_.reorder(parents_);
    }
    return results;
  }

 private:
  // Extends every sentence by one token; sets parents_ and fed_ for the hypotheses that stay alive.
  void step() {
    const std::vector<std::vector<Continuation>> continuations = extend_rows();
    parents_.clear();
    fed_ = {};
    int32_t first_row = 0;
    for (Sentence& sentence : sentences_) {
      const int32_t rows = static_cast<int32_t>(sentence.living.size());
      std::vector<Continuation> all;
      for (int32_t row = 0; row < rows; ++row) {
        const std::vector<Continuation>& some = continuations[first_row + row];
        all.insert(all.end(), some.begin(), some.end());
        if (some.empty()) end(sentence, sentence.living[row], Ending::Blocked);
      }
      choose(sentence, all, first_row);
      first_row += rows;
    }
  }

  std::vector<std::vector<Continuation>> extend_rows() {
    struct Row {
      const Sentence* sentence;
      int32_t row;
    };
    std::vector<Row> rows;
    for (const Sentence& sentence : sentences_) {
      for (size_t row = 0; row < sentence.living.size(); ++row) rows.push_back({&sentence, static_cast<int32_t>(row)});
    }
    std::vector<TokenQuestion> questions(rows.size());
    parallel_tasks(model_.threads(), static_cast<int64_t>(rows.size()), [&](int64_t r) {
      const Sentence& sentence = *rows[r].sentence;
      questions[r] = question_of(config_, tokens_, *sentence.input, sentence.living[rows[r].row].text, r);
    });
    // Beams are compared by sums of log-probabilities, so the penalty applies to log-probabilities and not to logits.
    const std::vector<TokenAnswer> answers =
        model_.choose(questions, {.count = config_.beam + 1,
                                  .log_probabilities = config_.repetition_penalty != 1,
                                  .penalty = config_.repetition_penalty});
    check_log_sums(answers);
    std::vector<std::vector<Continuation>> continuations;
    for (size_t r = 0; r < rows.size(); ++r) {
      continuations.push_back(extend_row(*rows[r].sentence, rows[r].row, answers[r]));
    }
    return continuations;
  }

  std::vector<Continuation> extend_row(const Sentence& sentence, int32_t row, const TokenAnswer& answer) const {
    const Living& living = sentence.living[row];
    const double origin = config_.repetition_penalty != 1 ? 0 : answer.log_sum;
    std::vector<Continuation> continuations;
    for (const ChosenToken& c : answer.chosen) {
      const double log_probability = static_cast<double>(c.logit) - answer.log_sum;
      continuations.push_back({.ranking = living.ranking + (static_cast<double>(c.score) - origin),
                               .log_probability = living.log_probability + log_probability,
                               .token_log_probability = log_probability,
                               .row = row,
                               .token = c.token});
    }
    return continuations;
  }

  // The best `beam` continuations that do not end stay alive; one that ends is kept if it is among the best `beam`.
  void choose(Sentence& sentence, std::vector<Continuation>& all, int32_t first_row) {
    std::sort(all.begin(), all.end(), [](const Continuation& a, const Continuation& b) {
      if (a.ranking != b.ranking) return a.ranking > b.ranking;
      return a.row != b.row ? a.row < b.row : a.token < b.token;
    });
    const size_t beam = static_cast<size_t>(config_.beam);
    std::vector<Living> next;
    std::vector<int32_t> parents;
    for (size_t rank = 0; rank < all.size() && next.size() < beam; ++rank) {
      const Continuation& c = all[rank];
      Living grown = sentence.living[c.row];
      grown.token_log_probabilities.push_back(c.token_log_probability);
      grown.log_probability = c.log_probability, grown.ranking = c.ranking;
      if (tokens_.end && c.token == *tokens_.end) {
        if (rank < beam) end(sentence, std::move(grown), Ending::EndToken);
        continue;
      }
      grown.text.push_back(c.token);
      if (tokens_.stops && tokens_.stops(grown.text)) {
        if (rank < beam) end(sentence, std::move(grown), Ending::StopString);
        continue;
      }
      next.push_back(std::move(grown));
      parents.push_back(first_row + c.row);
    }
    sentence.living = std::move(next);
    cut_or_stop(sentence);
    for (size_t i = 0; i < sentence.living.size(); ++i) {
      parents_.push_back(parents[i]);
      fed_.add({&sentence.living[i].text.back(), 1});
    }
  }

  void end(Sentence& sentence, Living living, Ending ending) {
    Hypothesis hypothesis = make_hypothesis(config_, std::move(living.text), std::move(living.token_log_probabilities),
                                            living.log_probability, living.ranking, ending);
    const auto place =
        std::upper_bound(sentence.ended.begin(), sentence.ended.end(), hypothesis,
                         [&](const Hypothesis& a, const Hypothesis& b) { return ranks_before(*sentence.input, a, b); });
    sentence.ended.insert(place, std::move(hypothesis));
    if (static_cast<int64_t>(sentence.ended.size()) > config_.beam) sentence.ended.pop_back();
  }

  void cut_or_stop(Sentence& sentence) {
    if (should_stop(sentence)) {
      sentence.living.clear();
    } else if (!sentence.living.empty() &&
               static_cast<int64_t>(sentence.living.front().text.size()) >= sentence.max_new) {
      for (Living& living : sentence.living) end(sentence, std::move(living), Ending::MaxLength);
      sentence.living.clear();
    }
  }

  bool should_stop(const Sentence& sentence) const {
    const NBest& ended = sentence.ended;
    const bool all_complete = std::ranges::all_of(ended, [](const Hypothesis& h) { return is_complete(h.ending); });
    if (static_cast<int64_t>(ended.size()) < config_.beam || !all_complete) return false;
    if (config_.stop == StopRule::Full) return true;
    // Log-probabilities only fall, penalised ones too, and no length penalty is larger than that of the longest text.
    for (const Living& living : sentence.living) {
      if (length_normalized(config_, living.ranking, sentence.max_new) > ended.back().score) return false;
    }
    return true;
  }

  NextTokenModel& model_;
  const SearchConfig& config_;
  const SearchTokens& tokens_;
  const SearchListener& listener_;
  std::vector<Sentence> sentences_;
  std::vector<int32_t> parents_;
  FedTokens fed_;
};

}  // namespace

std::vector<NBest> beam_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                               const SearchConfig& config, const SearchTokens& tokens, const SearchListener& listener) {
  return BeamSearch(model, config, tokens, listener).run(inputs, at_once);
}

}  // namespace weft
