#include <algorithm>

#include "base/error.h"
#include "base/parallel_for.h"
#include "evaluate/search/candidates.h"
#include "evaluate/search/rules.h"

namespace weft {
namespace {

struct Living {
  std::vector<int32_t> text;
  double log_probability = 0;
};

// One sentence of the batch. Its living hypotheses are neighbouring rows of the model, the better ones first.
struct Sentence {
  size_t index = 0;  // in the batch
  const SearchInput* input = nullptr;
  int64_t max_new = 0;
  std::vector<Living> living;
  NBest ended;  // the best `beam`, best first
};

// A row's continuations: its best beam + 1 tokens with the log-probabilities of the texts that they make.
struct Continuation {
  double log_probability;
  int32_t row;  // within the sentence
  int32_t token;
};

// Complete texts come before cut ones; of two alike, the one found first.
bool ranks_before(const Hypothesis& a, const Hypothesis& b) {
  const bool a_complete = a.ending == Ending::EndToken, b_complete = b.ending == Ending::EndToken;
  return a_complete != b_complete ? a_complete : a.score > b.score;
}

class BeamSearch {
 public:
  BeamSearch(NextTokenModel& model, const SearchConfig& config, const SearchTokens& tokens)
      : model_(model), config_(config), tokens_(tokens) {}

  std::vector<NBest> run(std::span<const SearchInput* const> inputs) {
    std::vector<NBest> results(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      sentences_.push_back({.index = i,
                            .input = inputs[i],
                            .max_new = max_new_tokens(config_, *inputs[i], model_.max_length()),
                            .living = {Living{}}});
    }
    for (std::span<const float> logits = feed_prompts(model_, inputs); !sentences_.empty();) {
      step(logits);
      std::erase_if(sentences_, [&](Sentence& sentence) {
        if (!sentence.living.empty()) return false;
        if (static_cast<int64_t>(sentence.ended.size()) > config_.n_best) sentence.ended.resize(config_.n_best);
        results[sentence.index] = std::move(sentence.ended);
        return true;
      });
      if (sentences_.empty()) break;
      model_.reorder(parents_);
      logits = feed_tokens(model_, fed_);
    }
    return results;
  }

 private:
  // Extends every sentence by one token; leaves in parents_ and fed_ what the model has to do for the living.
  void step(std::span<const float> logits) {
    const std::vector<std::vector<Continuation>> continuations = extend_rows(logits);
    parents_.clear();
    fed_.clear();
    int32_t first_row = 0;
    for (Sentence& sentence : sentences_) {
      const int32_t rows = static_cast<int32_t>(sentence.living.size());
      std::vector<Continuation> all;
      for (int32_t row = 0; row < rows; ++row) {
        const std::vector<Continuation>& some = continuations[first_row + row];
        all.insert(all.end(), some.begin(), some.end());
        if (some.empty())
          end(sentence, sentence.living[row].text, sentence.living[row].log_probability, Ending::Blocked);
      }
      choose(sentence, all, first_row);
      first_row += rows;
    }
  }

  std::vector<std::vector<Continuation>> extend_rows(std::span<const float> logits) {
    struct Row {
      const Sentence* sentence;
      int32_t row;
    };
    std::vector<Row> rows;
    for (const Sentence& sentence : sentences_) {
      for (size_t row = 0; row < sentence.living.size(); ++row) rows.push_back({&sentence, static_cast<int32_t>(row)});
    }
    std::vector<std::vector<Continuation>> continuations(rows.size());
    std::vector<double> log_sums(rows.size());
    const size_t vocabulary = static_cast<size_t>(model_.vocabulary());
    parallel_tasks(model_.threads(), static_cast<int64_t>(rows.size()), [&](int64_t r) {
      const auto [sentence, row] = rows[r];
      const Living& living = sentence->living[row];
      const std::span<const float> row_logits = logits.subspan(r * vocabulary, vocabulary);
      log_sums[r] = log_sum_exp(row_logits);
      const auto blocked = blocked_tokens(config_, tokens_, sentence->input->prompt, living.text);
      for (const Candidate& c : best_tokens(row_logits, config_.beam + 1, blocked)) {
        continuations[r].push_back(
            {living.log_probability + (static_cast<double>(c.logit) - log_sums[r]), row, c.token});
      }
    });
    check_log_sums(log_sums);
    return continuations;
  }

  // The best `beam` continuations that go on become the living ones; an end among the best `beam` of all is kept.
  void choose(Sentence& sentence, std::vector<Continuation>& all, int32_t first_row) {
    std::sort(all.begin(), all.end(), [](const Continuation& a, const Continuation& b) {
      if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
      return a.row != b.row ? a.row < b.row : a.token < b.token;
    });
    const size_t beam = static_cast<size_t>(config_.beam);
    std::vector<Living> next;
    std::vector<int32_t> parents;
    for (size_t rank = 0; rank < all.size() && next.size() < beam; ++rank) {
      const Continuation& c = all[rank];
      std::vector<int32_t> text = sentence.living[c.row].text;
      if (tokens_.end && c.token == *tokens_.end) {
        if (rank < beam) end(sentence, std::move(text), c.log_probability, Ending::EndToken);
        continue;
      }
      text.push_back(c.token);
      next.push_back({std::move(text), c.log_probability});
      parents.push_back(first_row + c.row);
    }
    sentence.living = std::move(next);
    cut_or_stop(sentence);
    for (size_t i = 0; i < sentence.living.size(); ++i) {
      parents_.push_back(parents[i]);
      fed_.push_back(sentence.living[i].text.back());
    }
  }

  void end(Sentence& sentence, std::vector<int32_t> text, double log_probability, Ending ending) {
    Hypothesis hypothesis = make_hypothesis(config_, std::move(text), log_probability, ending);
    const auto place = std::upper_bound(sentence.ended.begin(), sentence.ended.end(), hypothesis, ranks_before);
    sentence.ended.insert(place, std::move(hypothesis));
    if (static_cast<int64_t>(sentence.ended.size()) > config_.beam) sentence.ended.pop_back();
  }

  void cut_or_stop(Sentence& sentence) {
    if (should_stop(sentence)) {
      sentence.living.clear();
    } else if (!sentence.living.empty() &&
               static_cast<int64_t>(sentence.living.front().text.size()) >= sentence.max_new) {
      for (Living& living : sentence.living) {
        end(sentence, std::move(living.text), living.log_probability, Ending::MaxLength);
      }
      sentence.living.clear();
    }
  }

  bool should_stop(const Sentence& sentence) const {
    const NBest& ended = sentence.ended;
    if (static_cast<int64_t>(ended.size()) < config_.beam || ended.back().ending != Ending::EndToken) return false;
    if (config_.stop == StopRule::Full) return true;
    // Log-probabilities only fall, and no penalty is larger than that of the longest text.
    for (const Living& living : sentence.living) {
      if (length_normalized(config_, living.log_probability, sentence.max_new) > ended.back().score) return false;
    }
    return true;
  }

  NextTokenModel& model_;
  const SearchConfig& config_;
  const SearchTokens& tokens_;
  std::vector<Sentence> sentences_;
  std::vector<int32_t> parents_, fed_;
};

}  // namespace

std::vector<NBest> beam_search(NextTokenModel& model, std::span<const SearchInput* const> inputs,
                               const SearchConfig& config, const SearchTokens& tokens) {
  return BeamSearch(model, config, tokens).run(inputs);
}

}  // namespace weft
