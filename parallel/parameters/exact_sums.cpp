// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/exact_sums.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/exact/fixed_point.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

// One integer an element, and a second one in buckets with a vocabulary.
struct Integers {
  Tensor high, low;

  Integers slice(int64_t begin, int64_t end) const {
    return {high.slice(begin, end), low ? low.slice(begin, end) : Tensor()};
  }
};

}  // namespace

struct ExactSums::Bucket {
  FlatRange range;
  FlatRange owned;  // what this rank has the sum of: its share, or the whole range
  std::vector<const Parameter*> parameters;
  bool fine = false;  // some parameter has second integers
  Integers mine;      // of the range: what this rank adds up
  Integers sum;       // of the owned range; the same memory as `mine` unless gradients are reduce-scattered
  Integers received;  // of the owned range, while they are summed apart
  std::vector<std::unique_ptr<CollectiveWork>> pending;

  Integers allocate(Context& context, int64_t elements) const {
    return {context.zeros({elements}, DType::I64), fine ? context.zeros({elements}, DType::I64) : Tensor()};
  }
};

ExactSums::ExactSums(ParameterRegistry& registry) : registry_(registry) {
  Context& context = registry.context();
  const FlatLayout& layout = registry.layout();
  for (size_t b = 0; b < layout.trained_buckets; ++b) {
    auto bucket = std::make_unique<Bucket>();
    bucket->range = layout.buckets[b];
    bucket->owned = layout.sharded() ? layout.owned[b] : bucket->range;
    buckets_.push_back(std::move(bucket));
  }
  for (const auto& p : registry.parameters()) {
    if (p->spec().frozen) continue;
    Bucket& bucket = *buckets_[static_cast<size_t>(layout.bucket_of[p->index()])];
    bucket.parameters.push_back(p.get());
    bucket.fine = bucket.fine || p->spec().padded;
  }
  for (const auto& bucket : buckets_) {
    if (layout.zero != ZeroStage::Gradients) bucket->mine = bucket->allocate(context, bucket->range.size());
    bucket->sum = layout.sharded() ? bucket->allocate(context, bucket->owned.size()) : bucket->mine;
  }
  const auto parameters = static_cast<int64_t>(registry.parameters().size());
  exponents_ = context.zeros({parameters}, DType::I32);
  facts_ = context.zeros({parameters, kFixedPointFacts}, DType::I64);
}

ExactSums::~ExactSums() = default;

void ExactSums::set_exponents(std::span<const int32_t> exponents) {
  require<InternalError>(std::ssize(exponents) == exponents_.elements(), "{} exponents of {} parameters",
                         exponents.size(), exponents_.elements());
  upload(registry_.context(), exponents, exponents_);
}

void ExactSums::begin_step() { fill(registry_.context(), facts_, 0); }

Tensor ExactSums::facts_of(const Parameter& parameter) const {
  const auto at = static_cast<int64_t>(parameter.index()) * kFixedPointFacts;
  return facts_.flat(at, Shape{kFixedPointFacts});
}

Tensor ExactSums::exponent_of(const Parameter& parameter) const {
  return exponents_.flat(static_cast<int64_t>(parameter.index()), Shape{1});
}

void ExactSums::add(size_t index, const Tensor& gradient, bool first) {
  Bucket& bucket = *buckets_[index];
  Context& context = registry_.context();
  if (!bucket.mine.high) bucket.mine = bucket.allocate(context, bucket.range.size());
  for (const Parameter* p : bucket.parameters) {
    const int64_t begin = p->range().begin - bucket.range.begin, end = p->range().end - bucket.range.begin;
    const Integers to = bucket.mine.slice(begin, end);
    to_fixed_point(context, {.x = gradient.slice(begin, end),
                             .exponent = exponent_of(*p),
                             .high = to.high,
                             .low = p->spec().padded ? to.low : Tensor(),
                             .facts = facts_of(*p),
                             .mode = first ? Accumulate::Overwrite : Accumulate::Add});
  }
}

void ExactSums::start(size_t index, bool first, CollectiveUse use) {
  Bucket& bucket = *buckets_[index];
  Communicator& dp = registry_.mesh().dp();
  if (dp.size() == 1) return;
  const bool apart = registry_.layout().sharded() && !first;
  bucket.received = apart ? bucket.allocate(registry_.context(), bucket.owned.size()) : bucket.sum;
  for (const auto& [from, to] :
       {std::pair(bucket.mine.high, bucket.received.high), std::pair(bucket.mine.low, bucket.received.low)}) {
    if (!from) continue;
    bucket.pending.push_back(registry_.layout().sharded() ? dp.start_reduce_scatter(from, to, use)
                                                          : dp.start_all_reduce(from, ReduceOp::Sum, use));
  }
}

void ExactSums::complete(size_t index) {
  Bucket& bucket = *buckets_[index];
  for (const auto& work : bucket.pending) work->wait();
  bucket.pending.clear();
  Context& context = registry_.context();
  const Integers received = std::exchange(bucket.received, {});
  if (received.high && received.high.storage() != bucket.sum.high.storage()) {
    add_integers(context, received.high, bucket.sum.high);
    if (bucket.fine) add_integers(context, received.low, bucket.sum.low);
  }
  if (registry_.layout().zero == ZeroStage::Gradients) bucket.mine = {};
}

void ExactSums::reduce_partial_sums(MeshAxis axis) {
  Communicator& ranks = registry_.mesh().on(axis);
  if (ranks.size() == 1) return;
  std::vector<std::unique_ptr<CollectiveWork>> sums;
  for (const auto& bucket : buckets_) {
    for (const Parameter* p : bucket->parameters) {
      const FlatRange part = overlap(p->range(), bucket->owned);
      if (!p->spec().partial_over.contains(axis) || part.size() <= 0) continue;
      const Integers sum = bucket->sum.slice(part.begin - bucket->owned.begin, part.end - bucket->owned.begin);
      sums.push_back(ranks.start_all_reduce(sum.high, ReduceOp::Sum));
      if (p->spec().padded) sums.push_back(ranks.start_all_reduce(sum.low, ReduceOp::Sum));
    }
  }
  for (const auto& work : sums) work->wait();
}

void ExactSums::finish() {
  for (const GridAxis& grid : kReplicaAxes) reduce_partial_sums(grid.axis);
  // All replicas hold the same sums if they are not divided.
  const bool mine = registry_.layout().sharded() || registry_.mesh().dp().rank() == 0;
  for (const auto& bucket : buckets_) {
    for (const Parameter* p : bucket->parameters) {
      const FlatRange part = overlap(p->range(), bucket->owned);
      if (part.size() <= 0) continue;
      const Integers sum = bucket->sum.slice(part.begin - bucket->owned.begin, part.end - bucket->owned.begin);
      from_fixed_point(registry_.context(), {.high = sum.high,
                                             .low = p->spec().padded ? sum.low : Tensor(),
                                             .exponent = exponent_of(*p),
                                             .out = registry_.reduced_gradient().piece(part),
                                             .facts = facts_of(*p),
                                             .counted = mine && registry_.counts(*p)});
    }
  }
}

size_t ExactSums::bytes() const {
  size_t sum = exponents_.bytes() + facts_.bytes();
  const auto add = [&](const Integers& integers) {
    sum += integers.high ? integers.high.bytes() : 0;
    sum += integers.low ? integers.low.bytes() : 0;
  };
  for (const auto& bucket : buckets_) {
    add(bucket->mine);
    if (registry_.layout().sharded()) add(bucket->sum);
  }
  return sum;
}

}  // namespace weft
