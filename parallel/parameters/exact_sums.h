// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parallel/parameters/parameter.h"

namespace weft {

// Sums of gradients as integers (kernels/ops/exact/fixed_point.h), which are the same in any order and grouping: over
// micro-batches, over the replicas at every ZeRO stage, and over the ranks of a replica that hold parts of a sum. The
// exponent of an element's integers belongs to its parameter. An element of a vocabulary has a second integer: rows of
// rare tokens are far smaller than those of frequent ones. GradientBuckets calls it, bucket by bucket.
//
// Memory of a rank, in bytes an element: 8, and 8 more in buckets with a vocabulary, for what the rank adds up (one
// bucket at a time if gradients are divided), and the same for the share that it owns, if it is one. Twice the bytes of
// fp32 are sent, and four times in buckets with a vocabulary.
class ExactSums {
 public:
  // `registry` is allocated, for training.
  explicit ExactSums(ParameterRegistry& registry);
  ~ExactSums();
  ExactSums(const ExactSums&) = delete;
  ExactSums& operator=(const ExactSums&) = delete;

  // The exponents of the steps from here on, by index of parameter. Not to be captured into a graph.
  void set_exponents(std::span<const int32_t> exponents);
  void begin_step();
  // Adds the gradients of a bucket's parameters (those of the whole bucket, f32) to its integers. `first`: there are
  // none yet in this step, or with divided gradients in this micro-batch.
  void add(size_t bucket, const Tensor& gradient, bool first);
  // Begins and ends the sum of a bucket over the replicas. `first`: nothing of this step has been summed yet.
  void start(size_t bucket, bool first, CollectiveUse use);
  void complete(size_t bucket);
  // Sums over the ranks of a replica what each has a part of, and writes the registry's reduced gradients.
  void finish();
  // i64 [parameters, kFixedPointFacts]: the facts of this step, of the elements that this rank holds. Each square is
  // counted on one rank.
  const Tensor& facts() const { return facts_; }
  size_t bytes() const;  // of the integers that are held from step to step

 private:
  struct Bucket;
  Tensor facts_of(const Parameter& parameter) const;
  Tensor exponent_of(const Parameter& parameter) const;
  void reduce_partial_sums(MeshAxis axis);

  ParameterRegistry& registry_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  Tensor exponents_;  // i32 [parameters]
  Tensor facts_;
};

}  // namespace weft
