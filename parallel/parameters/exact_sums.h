// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/tensor_digest.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// Sums of gradients that are the same in any order and grouping, as if all terms were added as integers
// (kernels/ops/exact/fixed_point.h): over leaves, over the replicas at every ZeRO stage, and over the ranks of a
// replica that hold parts of a sum. The exponent of an element's integers belongs to its parameter. An element of a
// vocabulary has a second integer: rows of rare tokens are far smaller than those of frequent ones.
//
// Each replica has the sums of an equal share of every bucket. What it gets for them depends on the step:
//   leaf by leaf  the fp32 gradients of one leaf of every replica, if no replica has more than one leaf, or gradients
//                 are divided: they are added at once, in a step of one leaf each without storing integers
//   together      integers that each replica has added over its leaves
// Undivided sums are gathered in fp32. GradientBuckets calls all of it, bucket by bucket, in one order on all replicas.
class ExactSums {
 public:
  // `registry` is allocated, for training.
  explicit ExactSums(ParameterRegistry& registry);
  ~ExactSums();
  ExactSums(const ExactSums&) = delete;
  ExactSums& operator=(const ExactSums&) = delete;

  // Before a step of which no replica has more than so many leaves: the exponents, by index of parameter, and the
  // memory that the step needs. Not to be captured into a graph.
  void prepare(std::span<const int32_t> exponents, int64_t most_leaves);
  void begin_step();
  // Until finish(), what is sent and what is received have digests. balance(): those of what this rank has sent less
  // those of what it has received, modulo 2^64; over all replicas they add up to 0, unless a bit has changed between.
  void watch();
  uint64_t balance() const;
  // The place of a leaf among those of this rank.
  struct Leaf {
    bool first, last;
  };
  // A leaf's gradients (f32, of the whole bucket) are there. They must stay until settle(): the first of the two ways
  // sends them.
  void start(size_t bucket, const Tensor& gradient, Leaf leaf, CollectiveUse use);
  // Waits for what the other replicas have sent, and adds it. Undivided sums that are whole then set out to all.
  void settle(size_t bucket);
  // The same, and waits for undivided sums.
  void complete(size_t bucket);
  // All are completed. Sums over the ranks of a replica what each has a part of; then the registry's reduced gradients
  // are those of the step.
  void finish();
  // i64 [parameters, kFixedPointFacts]: the facts of this step, of the elements that this rank sums or has added up.
  // Each square is counted on one rank.
  const Tensor& facts() const { return facts_; }
  size_t bytes() const;  // of the integers that are held from step to step

 private:
  struct Bucket;
  Tensor facts_of(const Parameter& parameter) const;
  Tensor exponent_of(const Parameter& parameter) const;
  bool divided() const { return registry_.layout().zero == ZeroStage::Gradients; }
  bool leaf_by_leaf() const { return one_leaf_ || divided(); }
  bool at_once(const Bucket& bucket) const;  // whether terms become sums without integers between
  // Calls f(parameter, part) for the parts of a bucket's parameters that lie in this rank's share.
  template <class F>
  void for_each_part(const Bucket& bucket, F&& f) const;
  void add_to_mine(Bucket& bucket, const Tensor& gradient, bool first);
  void add_terms(Bucket& bucket);
  void bring_out(size_t index);  // writes the sums of the share, and gathers undivided ones
  void reduce_partial_sums(MeshAxis axis);

  ParameterRegistry& registry_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  bool one_leaf_ = false;  // no replica has more in this step
  bool watched_ = false;
  std::optional<TensorDigest> sent_, received_;  // of the step that is watched, or was last
  Tensor exponents_;                             // i32 [parameters]
  Tensor facts_;
};

}  // namespace weft
