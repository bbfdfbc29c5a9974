// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "parallel/parameters/parameter.h"

namespace weft {

// Gradients summed over dp in the buckets of the registry's layout, while backward still runs. Buckets start strictly
// in their order on every rank, whatever order they get ready in: a bucket is ready when each of its parameters has a
// contribution and no use of one is open. By ZeRO stage, it is then:
//   Whole      after the last micro-batch: all-reduced in place
//   Optimizer  after the last micro-batch: reduce-scattered, each replica gets the sum of what it owns
//   Gradients  after every micro-batch: reduce-scattered and added to what is owned; its memory is given back
// Every dp rank must run as many micro-batches as every other if gradients are divided; one with fewer ends
// micro-batches that it never began.
// Layers open and close uses through ParameterUse (model/tape.h).
class GradientBuckets {
 public:
  explicit GradientBuckets(ParameterRegistry& registry);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  void begin_step();  // forgets the last step's contributions
  void begin_micro_batch(bool last);
  // A use of a parameter is open from its forward until the end of its backward.
  void open_use(const Parameter& parameter);
  void close_use(const Parameter& parameter) noexcept;
  // Where the next contribution to a parameter's gradient goes (accumulator dtype): the first one replaces what is
  // there, later ones are added. The caller writes it at once. If
  // gradients are never held whole, the memory is there from the first contribution of a micro-batch until the
  // reduction of its bucket. Absent for a frozen parameter, which has no gradient.
  Gradient contribute(const Parameter& parameter);
  // Starts the buckets that are ready and advances those under way. Call it between operations of backward.
  void progress();
  void end_micro_batch();
  // Zeroes what has no contribution, starts what is left, waits for all, sums what ranks of a replica hold in parts.
  // Returns exposed seconds: how long the step has waited for reductions over dp.
  double finish();
  int64_t size() const { return static_cast<int64_t>(buckets_.size()); }

 private:
  struct Bucket;
  // One parameter's, in this step (ZeroStage::Gradients: in this micro-batch).
  struct Contributions {
    bool any = false;
    int open_uses = 0;
  };
  Contributions& contributions(const Parameter& parameter) { return contributions_[parameter.index()]; }
  Tensor gradient_of(const Parameter& parameter) const;
  void hold(Bucket& bucket);  // allocates the gradients of a bucket
  void start(Bucket& bucket);
  void start_ready();
  void start_rest();
  void complete(Bucket& bucket);
  void reduce_partial_gradients(MeshAxis axis);

  ParameterRegistry& registry_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<Contributions> contributions_;  // by parameter
  size_t next_ = 0;                           // first bucket not started
  bool reducing_ = false;                     // in this micro-batch
  bool first_round_ = true;                   // the owned gradients hold nothing of this step yet
  double exposed_ = 0;
};

}  // namespace weft
