// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "kernels/tensor_digest.h"
#include "parallel/parameters/exact_sums.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// What a step that is watched tells of its gradients.
struct WatchedGradients {
  // A digest of the first micro-batch's, as end_probe() returns it. Absent unless gradients are summed exactly: others
  // are held with those of later micro-batches.
  std::optional<uint64_t> first;
  uint64_t balance = 0;  // ExactSums::balance()
  // A digest of the sums, where all replicas have all of them.
  std::optional<uint64_t> sums;
};

// Sums gradients over dp in the buckets of the registry's layout, while backward still runs. Every rank starts the
// buckets in the same fixed order, whatever order they become ready in: a bucket is ready when each of its parameters
// has a contribution and no open use. The ZeRO stage decides when and how a ready bucket is reduced:
//   Whole      after the last micro-batch: all-reduced in place
//   Optimizer  after the last micro-batch: reduce-scattered; each replica gets the sum of its share
//   Gradients  after every micro-batch: reduce-scattered and added to the owned share; the bucket's memory is freed
// If gradients are divided, every dp rank must end the same number of micro-batches; a rank that has fewer of them ends
// micro-batches that it never began.
// Gradients that are summed exactly (Sharding::exact) hold one micro-batch at a time: ExactSums gets a bucket that is
// ready after every micro-batch. Layers open and close uses through ParameterUse (model/tape.h).
class GradientBuckets {
 public:
  explicit GradientBuckets(ParameterRegistry& registry);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  void begin_step();  // clears the contributions of the previous step
  void begin_micro_batch(bool last);
  // A use of a parameter is open from its forward until the end of its backward.
  void open_use(const Parameter& parameter);
  void close_use(const Parameter& parameter) noexcept;
  // Returns where the next contribution to a parameter's gradient goes (accumulator dtype): the first contribution
  // overwrites the gradient, later ones are added. The caller writes it at once. If gradients are never held whole, the
  // memory is there from the first contribution of a micro-batch until the reduction of its bucket. Absent for a frozen
  // parameter, which has no gradient.
  Gradient contribute(const Parameter& parameter);
  // Starts the buckets that are ready and advances those under way. Call it between operations of backward.
  void progress();
  void end_micro_batch();
  // Zeroes gradients without a contribution, starts the remaining buckets, waits for all, and sums the gradients of
  // which a replica's ranks hold parts. Returns exposed seconds: how long the step has waited for reductions over dp.
  double finish();
  // Between these two, backward's gradients are hashed and reduced nowhere: for a micro-batch that is computed to be
  // compared. They overwrite the gradients of a step, so call begin_probe() before begin_step(). end_probe() returns a
  // sum of hashes of all gradients.
  void begin_probe();
  uint64_t end_probe();
  // The next step's gradients are watched, which watched() tells of once the step is finished.
  void watch();
  WatchedGradients watched() const;
  int64_t size() const { return static_cast<int64_t>(buckets_.size()); }
  ExactSums* exact() { return exact_.get(); }  // null: gradients are summed in floating point

 private:
  struct Bucket;
  // The contributions to one parameter's gradient in this step (ZeroStage::Gradients: in this micro-batch).
  struct Contributions {
    bool any = false;
    int open_uses = 0;
  };
  Contributions& contributions(const Parameter& parameter) { return contributions_[parameter.index()]; }
  Tensor gradient_of(const Parameter& parameter) const;
  void hold(Bucket& bucket);  // allocates the gradients of a bucket
  void start(Bucket& bucket);
  void start_rounded(Bucket& bucket, CollectiveUse use);
  void start_exact(Bucket& bucket, CollectiveUse use);
  void add_digest(const Bucket& bucket);
  void probe(Bucket& bucket);
  bool divides_gradients() const { return registry_.layout().zero == ZeroStage::Gradients; }
  void start_ready();
  void start_rest();
  void complete(Bucket& bucket);
  void reduce_partial_gradients(MeshAxis axis);

  ParameterRegistry& registry_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<Contributions> contributions_;  // one per parameter, by its index
  size_t next_ = 0;                           // the first bucket that has not started
  bool reducing_ = false;                     // whether this micro-batch reduces buckets
  bool first_round_ = true;                   // the owned gradients hold nothing of this step yet
  bool all_started_ = false;                  // whether the reductions of this step have begun
  bool probing_ = false, watching_ = false;
  std::optional<TensorDigest> digest_;  // of what is probed, or of the first micro-batch of what is watched
  std::unique_ptr<ExactSums> exact_;
  double exposed_ = 0;
};

}  // namespace weft
