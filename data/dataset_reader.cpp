// Plans and readers of a prepared dataset.
#include "data/batch_plan.h"
#include "data/dataset.h"
#include "data/loader.h"

namespace weft {
namespace {

PairLengths lengths_of(const Dataset& dataset) {
  PairLengths lengths;
  dataset.all_lengths(lengths.source, lengths.target);
  return lengths;
}

class StreamReader final : public SequenceReader {
 public:
  explicit StreamReader(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}
  void read(const PlannedSequence& s, std::span<int32_t>, std::span<int32_t> target) const override {
    dataset_->read_tokens(s.index, target);
  }

 private:
  std::shared_ptr<const Dataset> dataset_;
};

class PairReader final : public SequenceReader {
 public:
  explicit PairReader(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}
  void read(const PlannedSequence& s, std::span<int32_t> source, std::span<int32_t> target) const override {
    dataset_->read_source(s.index, source);
    dataset_->read_target(s.index, target);
  }

 private:
  std::shared_ptr<const Dataset> dataset_;
};

}  // namespace

std::shared_ptr<const BatchPlan> make_batch_plan(const BatchConfig& config, const Dataset& dataset, uint64_t seed) {
  if (dataset.header().kind == DatasetKind::Stream) return make_window_plan(config, dataset.num_tokens(), seed);
  return make_pair_plan(config, lengths_of(dataset), seed);
}

std::shared_ptr<const BatchPlan> make_evaluation_plan(const EvaluationOptions& options, const Dataset& dataset) {
  if (dataset.header().kind == DatasetKind::Stream) return make_window_evaluation(options, dataset.num_tokens());
  return make_pair_evaluation(options, lengths_of(dataset));
}

std::shared_ptr<const SequenceReader> make_reader(std::shared_ptr<const Dataset> dataset) {
  if (dataset->header().kind == DatasetKind::Stream) return std::make_shared<StreamReader>(std::move(dataset));
  return std::make_shared<PairReader>(std::move(dataset));
}

}  // namespace weft
