// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan_pairs.h"

// Plans that evaluate pairs, in order.
#include <algorithm>

#include "base/error.h"

namespace weft {
namespace {

class PairEvaluation final : public BatchPlan {
 public:
  PairEvaluation(const EvaluationOptions& options, PairLengths lengths) : lengths_(std::move(lengths)) {
    int64_t pairs = static_cast<int64_t>(lengths_.source.size());
    if (options.max_sequences > 0) pairs = std::min(pairs, options.max_sequences);
    for (int64_t i = 0; i < pairs; ++i) {
      if (fits(i, options.max_length)) pairs_.push_back(static_cast<uint32_t>(i));
    }
    require<DataError>(!pairs_.empty(), "evaluation: none of {} pairs has a source and fits {} positions", pairs,
                       options.max_length);
    int64_t tokens = 0, most = 0;
    for (int64_t i = 0; i < std::ssize(pairs_); ++i) {
      const int64_t more = planned_pair(lengths_, pairs_[i]).tokens();
      if (tokens + more > options.step_tokens && i > begin_.back()) {
        begin_.push_back(i);
        tokens = 0;
      }
      tokens += more;
      if (tokens > most) {
        most = tokens;
        largest_ = static_cast<int64_t>(begin_.size()) - 1;
      }
    }
    begin_.push_back(std::ssize(pairs_));
  }

  int64_t steps_per_epoch(int64_t) const override { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t largest_step(int64_t) const override { return largest_; }
  int64_t sequences_per_epoch() const override { return begin_.back(); }
  std::string order_text() const override { return "evaluation pairs in order"; }

  PlannedStep step(int64_t e, int64_t s) const override {
    check_step(s, steps_per_epoch(e));
    PlannedStep result{.epoch = e, .step_in_epoch = s};
    for (int64_t i = begin_[s]; i < begin_[s + 1]; ++i) result.sequences.push_back(planned_pair(lengths_, pairs_[i]));
    return result;
  }

 private:
  bool fits(int64_t pair, int64_t max_length) const {
    const int32_t source = lengths_.source[pair], target = lengths_.target[pair];
    if (source < 1 || target < (lengths_.joined ? 1 : 2)) return false;
    const PlannedSequence sequence = planned_pair(lengths_, pair);
    return max_length == 0 || std::max(sequence.source_tokens, sequence.input_tokens) <= max_length;
  }

  PairLengths lengths_;
  std::vector<uint32_t> pairs_;  // the pairs to evaluate
  std::vector<int64_t> begin_{0};
  int64_t largest_ = 0;
};

}  // namespace

std::shared_ptr<const BatchPlan> make_pair_evaluation(const EvaluationOptions& options, PairLengths lengths) {
  check_pair_count(lengths);
  return std::make_shared<PairEvaluation>(options, std::move(lengths));
}

}  // namespace weft
