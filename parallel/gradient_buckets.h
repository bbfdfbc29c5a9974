#pragma once
#include <memory>
#include <vector>

#include "parallel/parameter.h"

namespace weft {

// Gradients summed over dp in the buckets of the registry's layout, while backward still runs. Buckets start strictly
// in their order on every rank, whatever order they get ready in. What happens to one:
//   Whole      after the last micro-batch: all-reduced in place
//   Optimizer  after the last micro-batch: reduce-scattered, each replica gets the sum of what it owns
//   Gradients  after every micro-batch: reduce-scattered and added to what is owned; its memory is given back
// Every dp rank must run as many micro-batches as every other where gradients are divided; one with fewer ends
// micro-batches that it never began.
class GradientBuckets {
 public:
  explicit GradientBuckets(ParameterRegistry& registry);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  void begin_step();  // forgets the last step's contributions
  void begin_micro_batch(bool last);
  void expect(Parameter& parameter);       // forward: one more use will contribute
  void contributed(Parameter& parameter);  // backward: it has
  void progress();
  void end_micro_batch();
  // Zeroes what nobody contributed to, starts what is left, waits for all, completes what tp holds in parts.
  // Returns exposed seconds: how long the step has waited for reductions over dp.
  double finish();
  int64_t size() const { return static_cast<int64_t>(buckets_.size()); }

 private:
  friend class Parameter;
  struct Bucket;
  void open(int bucket);  // gives the gradients of a bucket memory
  void start(Bucket& bucket);
  void start_ready();
  void start_rest();
  void complete(Bucket& bucket);
  void reduce_partial_gradients();

  ParameterRegistry& registry_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  size_t next_ = 0;          // first bucket not started
  bool reducing_ = false;    // in this micro-batch
  bool first_round_ = true;  // nothing was added to the owned gradients in this step yet
  double exposed_ = 0;
};

}  // namespace weft
