// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/progress.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_slice.h"
#include "data/batches/batch_plan_windows.h"
#include "data/batches/padded_shape.h"
#include "data/dataset/dataset.h"

namespace weft {
namespace {

// The minimum, mean and maximum of the values added.
class Spread {
 public:
  void add(int64_t value) {
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
    sum_ += value;
    ++count_;
  }
  // "3 steps", "0 to 2 (mean 1.4) steps".
  std::string of(const char* noun, const char* plural) const {
    if (count_ == 0) return fmt::format("no {}", plural);
    if (least_ == most_) return fmt::format("{} {}", least_, least_ == 1 ? noun : plural);
    return fmt::format("{} to {} (mean {:.1f}) {}", least_, most_,
                       static_cast<double>(sum_) / static_cast<double>(count_), plural);
  }

 private:
  int64_t least_ = std::numeric_limits<int64_t>::max();
  int64_t most_ = 0;
  int64_t sum_ = 0;
  int64_t count_ = 0;
};

PairLengths lengths_of(const Dataset& dataset) {
  PairLengths lengths;
  dataset.all_lengths(lengths.source, lengths.target);
  lengths.joined = is_joined(dataset.header().kind);
  for (const DatasetPart& part : dataset.parts()) lengths.parts.push_back({part.num_records, part.weight});
  return lengths;
}

std::vector<StreamPart> stream_parts(const Dataset& dataset) {
  std::vector<StreamPart> parts;
  for (const DatasetPart& part : dataset.parts()) parts.push_back({part.first_token, part.num_tokens, part.weight});
  return parts;
}

}  // namespace

int64_t PlannedStep::target_tokens() const {
  int64_t count = 0;
  for (const PlannedSequence& s : sequences) count += s.scored();
  return count;
}

int64_t PlannedStep::tokens() const {
  int64_t count = 0;
  for (const PlannedSequence& s : sequences) count += s.tokens();
  return count;
}

Position BatchPlan::normalised(Position position) const {
  const int64_t steps = steps_per_epoch(position.epoch);
  require<InternalError>(position.epoch >= 0 && position.step >= 0 && position.step <= steps,
                         "batch plan: epoch {}, step {} of {} is no position", position.epoch, position.step, steps);
  return position.step == steps ? Position{position.epoch + 1, 0} : position;
}

Position BatchPlan::after(Position position) const { return normalised({position.epoch, position.step + 1}); }

void BatchPlan::check_step(int64_t step, int64_t steps) {
  require<InternalError>(step >= 0 && step < steps, "batch plan: step {} of an epoch of {}", step, steps);
}

std::shared_ptr<const BatchPlan> make_batch_plan(const BatchConfig& config, const Dataset& dataset, uint64_t seed) {
  if (dataset.header().kind == DatasetKind::Stream) return make_window_plan(config, stream_parts(dataset), seed);
  return make_pair_plan(config, lengths_of(dataset), seed);
}

std::shared_ptr<const BatchPlan> make_evaluation_plan(const EvaluationOptions& options, const Dataset& dataset) {
  if (dataset.header().kind == DatasetKind::Stream) return make_window_evaluation(options, dataset.num_tokens());
  return make_pair_evaluation(options, lengths_of(dataset));
}

int64_t left_out_of(const BatchPlan& evaluation, const Dataset& dataset, const EvaluationOptions& options) {
  if (dataset.header().kind == DatasetKind::Stream) return 0;
  const int64_t pairs = dataset.num_pairs(), most = options.max_sequences;
  return (most > 0 ? std::min(most, pairs) : pairs) - evaluation.sequences_per_epoch();
}

std::string describe_plan(const BatchPlan& plan, int64_t dp_size, int64_t micro_batch_tokens,
                          const std::function<void()>& beat, Padding padding, StepCut cut) {
  constexpr int64_t kLooked = 16;
  const int64_t steps = plan.steps_per_epoch(0);
  const int64_t looked = std::min(steps, kLooked);
  Spread sequences, targets, rank_sequences, micro_batches, tokens_of_micro;
  int64_t planned = 0, tokens_planned = 0, rows = 0;
  double busiest = 0;  // cost of the busiest rank over the mean, in the worst step
  for (int64_t i = 0; i < looked; ++i) {
    if (beat) beat();
    const PlannedStep step = plan.step(0, looked == 1 ? 0 : i * (steps - 1) / (looked - 1));
    sequences.add(static_cast<int64_t>(step.sequences.size()));
    targets.add(step.target_tokens());
    planned += static_cast<int64_t>(step.sequences.size());
    tokens_planned += step.tokens();
    std::vector<BatchShape> shapes;
    int64_t sum = 0, most = 0;
    for (const auto& micro : cut_for_all(step, dp_size, micro_batch_tokens, cut)) {
      micro_batches.add(std::ssize(micro));
      int64_t cost = 0, of_rank = 0;
      for (const auto& part : micro) {
        of_rank += std::ssize(part);
        for (int64_t place : part) cost += sequence_cost(step.sequences[place]);
        shapes.push_back(shape_of(step, part));
        tokens_of_micro.add(shapes.back().rows());
      }
      rank_sequences.add(of_rank);
      sum += cost;
      most = std::max(most, cost);
    }
    if (padding == Padding::Buckets) rows += bucket_of(shapes, longest_sequence(step)).rows() * std::ssize(shapes);
    busiest = std::max(busiest, static_cast<double>(most) * static_cast<double>(dp_size) / static_cast<double>(sum));
  }
  std::string text = fmt::format("order: {}; {}, {} an epoch\n", plan.order_text(),
                                 counted(plan.sequences_per_epoch(), "sequence"), counted(steps, "step"));
  text += fmt::format("a step: {}, {}\n", sequences.of("sequence", "sequences"),
                      targets.of("target token", "target tokens"));
  text += fmt::format("{}: {} in {} of {}; the busiest has {:.3f} x the mean\n",
                      dp_size == 1 ? "the rank" : fmt::format("each of {} ranks", dp_size),
                      rank_sequences.of("sequence", "sequences"), micro_batches.of("micro-batch", "micro-batches"),
                      tokens_of_micro.of("token", "tokens"), busiest);
  const double share =
      100 * (1 - static_cast<double>(tokens_planned) / static_cast<double>(std::max<int64_t>(rows, 1)));
  const std::string padded = padding == Padding::None ? "none" : fmt::format("{:.1f} % of the rows", share);
  if (looked == steps) {
    const int64_t left_out = plan.sequences_per_epoch() - planned;
    text += fmt::format("left out of an epoch: {}; padding: {}\n", counted(left_out, "sequence"), padded);
  } else {
    text += fmt::format("(figures of {} of epoch 0); padding: {}\n", counted(looked, "step"), padded);
  }
  return text;
}

}  // namespace weft
