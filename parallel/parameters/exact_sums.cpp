// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/exact_sums.h"

#include <algorithm>
#include <utility>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/exact/fixed_point.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

// One integer an element, and a second one in buckets with a vocabulary.
struct Integers {
  Tensor high, low;

  explicit operator bool() const { return static_cast<bool>(high); }
  Integers slice(int64_t begin, int64_t end) const {
    return {high.slice(begin, end), low ? low.slice(begin, end) : Tensor()};
  }
};

Tensor low_of(const Integers& integers, const Parameter& parameter) {
  return parameter.spec().padded ? integers.low : Tensor();
}

void add_digests(TensorDigest& digest, const Integers& integers) {
  digest.add_integers(integers.high);
  if (integers.low) digest.add_integers(integers.low);
}

// Adds the parts of a bucket that this replica sends to each of `dp`, or has received from each.
void add_digests(TensorDigest& digest, const Communicator& dp, size_t bucket, const Tensor& terms, bool sent) {
  const int64_t replicas = dp.size(), me = dp.rank(), share = terms.elements() / replicas;
  for (int64_t other = 0; other < replicas; ++other) {
    const int64_t from = sent ? me : other, to = sent ? other : me;
    const auto way = static_cast<uint64_t>((static_cast<int64_t>(bucket) * replicas + from) * replicas + to);
    digest.add(terms.slice(other * share, (other + 1) * share), way);
  }
}

}  // namespace

struct ExactSums::Bucket {
  FlatRange range;
  FlatRange share;  // what this rank has the sums of: an equal part of the range, or all of one replica's
  std::vector<const Parameter*> parameters;
  bool fine = false;     // some parameter has second integers
  bool partial = false;  // of some parameter each rank of a replica has a part of the sum
  Integers mine;         // of the range: the sums of this rank's leaves, if they are sent together
  Integers sum;          // of the share; the memory of `mine` if there is one replica
  Tensor terms;          // f32 [replicas, share]: one leaf of each replica, until they are added
  bool first = false;    // whether these are the first of the step
  bool whole = false;    // whether the sums over the replicas are whole once what is pending has come
  bool out = false;      // whether they have been written
  CollectiveUse use;
  std::vector<std::unique_ptr<CollectiveWork>> pending;
  std::unique_ptr<CollectiveWork> gather;

  Integers allocate(Context& context, int64_t elements) const {
    return {context.zeros({elements}, DType::I64), fine ? context.zeros({elements}, DType::I64) : Tensor()};
  }
  Integers sum_of(const FlatRange& part) const { return sum.slice(part.begin - share.begin, part.end - share.begin); }
};

ExactSums::ExactSums(ParameterRegistry& registry) : registry_(registry) {
  const FlatLayout& layout = registry.layout();
  const Communicator& dp = registry.mesh().dp();
  for (size_t b = 0; b < layout.trained_buckets; ++b) {
    auto bucket = std::make_unique<Bucket>();
    bucket->range = layout.buckets[b];
    bucket->share = equal_part(bucket->range, dp.rank(), dp.size());
    buckets_.push_back(std::move(bucket));
  }
  for (const auto& p : registry.parameters()) {
    if (p->spec().frozen) continue;
    Bucket& bucket = *buckets_[static_cast<size_t>(layout.bucket_of[p->index()])];
    bucket.parameters.push_back(p.get());
    bucket.fine = bucket.fine || p->spec().padded;
    for (const GridAxis& grid : kReplicaAxes) {
      const bool part = p->spec().partial_over.contains(grid.axis) && registry.mesh().on(grid.axis).size() > 1;
      bucket.partial = bucket.partial || part;
    }
  }
  const auto parameters = static_cast<int64_t>(registry.parameters().size());
  exponents_ = registry.context().zeros({parameters}, DType::I32);
  facts_ = registry.context().zeros({parameters, kFixedPointFacts}, DType::I64);
}

ExactSums::~ExactSums() = default;

bool ExactSums::at_once(const Bucket& bucket) const { return one_leaf_ && !bucket.partial; }

// Steps of one leaf and of several may alternate: memory that one of them needed is kept.
void ExactSums::prepare(std::span<const int32_t> exponents, int64_t most_leaves) {
  require<InternalError>(std::ssize(exponents) == exponents_.elements(), "{} exponents of {} parameters",
                         exponents.size(), exponents_.elements());
  Context& context = registry_.context();
  upload(context, exponents, exponents_);
  one_leaf_ = most_leaves <= 1;
  for (const auto& bucket : buckets_) {
    if (!bucket->sum && !at_once(*bucket)) bucket->sum = bucket->allocate(context, bucket->share.size());
    if (bucket->mine || leaf_by_leaf()) continue;
    const bool alone = bucket->share == bucket->range;
    bucket->mine = alone ? bucket->sum : bucket->allocate(context, bucket->range.size());
  }
}

void ExactSums::begin_step() {
  fill(registry_.context(), facts_, 0);
  for (const auto& bucket : buckets_) bucket->whole = bucket->out = false;
}

Tensor ExactSums::facts_of(const Parameter& parameter) const {
  const auto at = static_cast<int64_t>(parameter.index()) * kFixedPointFacts;
  return facts_.flat(at, Shape{kFixedPointFacts});
}

Tensor ExactSums::exponent_of(const Parameter& parameter) const {
  return exponents_.flat(static_cast<int64_t>(parameter.index()), Shape{1});
}

template <class F>
void ExactSums::for_each_part(const Bucket& bucket, F&& f) const {
  for (const Parameter* p : bucket.parameters) {
    const FlatRange part = overlap(p->range(), bucket.share);
    if (part.size() > 0) f(*p, part);
  }
}

// A replica without a leaf sends zeros, once.
void ExactSums::start(size_t index, const Tensor& gradient, Leaf leaf, CollectiveUse use) {
  Bucket& bucket = *buckets_[index];
  Context& context = registry_.context();
  Communicator& dp = registry_.mesh().dp();
  bucket.use = use;
  if (!leaf_by_leaf()) add_to_mine(bucket, gradient, leaf.first);
  if (!leaf.last && !divided()) return;
  bucket.whole = one_leaf_ || !divided();
  bucket.first = leaf.first;
  if (leaf_by_leaf()) {
    bucket.terms = dp.size() > 1 ? context.empty(gradient.shape(), DType::F32) : gradient;
    if (dp.size() == 1) return;
    if (watched_) add_digests(*sent_, dp, index, gradient, true);
    bucket.pending.push_back(dp.start_all_to_all(gradient, bucket.terms, use));
  } else if (dp.size() > 1) {
    if (watched_) add_digests(*sent_, bucket.mine);
    bucket.pending.push_back(dp.start_reduce_scatter(bucket.mine.high, bucket.sum.high, use));
    if (bucket.fine) bucket.pending.push_back(dp.start_reduce_scatter(bucket.mine.low, bucket.sum.low, use));
  }
}

void ExactSums::watch() {
  watched_ = true;
  sent_.emplace(registry_.context());
  received_.emplace(registry_.context());
}

uint64_t ExactSums::balance() const { return sent_ ? sent_->value() - received_->value() : 0; }

void ExactSums::add_to_mine(Bucket& bucket, const Tensor& gradient, bool first) {
  for (const Parameter* p : bucket.parameters) {
    const int64_t begin = p->range().begin - bucket.range.begin, end = p->range().end - bucket.range.begin;
    const Integers to = bucket.mine.slice(begin, end);
    to_fixed_point(registry_.context(), {.x = gradient.slice(begin, end),
                                         .exponent = exponent_of(*p),
                                         .high = to.high,
                                         .low = low_of(to, *p),
                                         .facts = facts_of(*p),
                                         .mode = first ? Accumulate::Overwrite : Accumulate::Add});
  }
}

void ExactSums::settle(size_t index) {
  Bucket& bucket = *buckets_[index];
  const bool received = !bucket.pending.empty();
  for (const auto& work : bucket.pending) work->wait();
  bucket.pending.clear();
  if (received && watched_) {
    bucket.terms ? add_digests(*received_, registry_.mesh().dp(), index, bucket.terms, false)
                 : add_digests(*received_, bucket.sum);
  }
  if (bucket.terms) add_terms(bucket);
  bucket.terms = {};
  if (bucket.whole && !bucket.out && !bucket.partial) bring_out(index);
}

void ExactSums::add_terms(Bucket& bucket) {
  Context& context = registry_.context();
  const int64_t share = bucket.share.size(), terms = bucket.range.size() / share;
  for_each_part(bucket, [&](const Parameter& p, const FlatRange& part) {
    const int64_t begin = part.begin - bucket.share.begin, end = part.end - bucket.share.begin;
    if (at_once(bucket)) {
      return sum_exactly(context, {.x = bucket.terms.slice(begin, (terms - 1) * share + end),
                                   .terms = terms,
                                   .stride = share,
                                   .low = p.spec().padded,
                                   .exponent = exponent_of(p),
                                   .out = registry_.reduced_gradient().piece(part),
                                   .facts = facts_of(p),
                                   .counted = registry_.counts(p)});
    }
    const Integers to = bucket.sum_of(part);
    for (int64_t term = 0; term < terms; ++term) {
      to_fixed_point(context, {.x = bucket.terms.slice(term * share + begin, term * share + end),
                               .exponent = exponent_of(p),
                               .high = to.high,
                               .low = low_of(to, p),
                               .facts = facts_of(p),
                               .mode = bucket.first && term == 0 ? Accumulate::Overwrite : Accumulate::Add});
    }
  });
}

void ExactSums::bring_out(size_t index) {
  Bucket& bucket = *buckets_[index];
  Communicator& dp = registry_.mesh().dp();
  const FlatBuffer& reduced = registry_.reduced_gradient();
  bucket.out = true;
  if (!at_once(bucket)) {
    for_each_part(bucket, [&](const Parameter& p, const FlatRange& part) {
      const Integers sum = bucket.sum_of(part);
      from_fixed_point(registry_.context(), {.high = sum.high,
                                             .low = low_of(sum, p),
                                             .exponent = exponent_of(p),
                                             .out = reduced.piece(part),
                                             .facts = facts_of(p),
                                             .counted = registry_.counts(p)});
    });
  }
  if (dp.size() == 1 || registry_.layout().sharded()) return;
  bucket.gather = dp.start_all_gather(reduced.piece(bucket.share), reduced.piece(bucket.range), bucket.use);
}

void ExactSums::complete(size_t index) {
  settle(index);
  if (const auto gather = std::move(buckets_[index]->gather)) gather->wait();
}

void ExactSums::reduce_partial_sums(MeshAxis axis) {
  Communicator& ranks = registry_.mesh().on(axis);
  if (ranks.size() == 1) return;
  std::vector<std::unique_ptr<CollectiveWork>> sums;
  for (const auto& bucket : buckets_) {
    for_each_part(*bucket, [&](const Parameter& p, const FlatRange& part) {
      if (!p.spec().partial_over.contains(axis)) return;
      const Integers sum = bucket->sum_of(part);
      sums.push_back(ranks.start_all_reduce(sum.high, ReduceOp::Sum));
      if (p.spec().padded) sums.push_back(ranks.start_all_reduce(sum.low, ReduceOp::Sum));
    });
  }
  for (const auto& work : sums) work->wait();
}

void ExactSums::finish() {
  for (const GridAxis& grid : kReplicaAxes) reduce_partial_sums(grid.axis);
  for (size_t index = 0; index < buckets_.size(); ++index) {
    if (!buckets_[index]->out) bring_out(index);
  }
  for (const auto& bucket : buckets_) {
    if (const auto gather = std::move(bucket->gather)) gather->wait();
  }
  watched_ = false;
}

size_t ExactSums::bytes() const {
  size_t sum = 0;
  const auto add = [&](const Integers& integers) {
    sum += integers.high ? integers.high.bytes() : 0;
    sum += integers.low ? integers.low.bytes() : 0;
  };
  for (const auto& bucket : buckets_) {
    add(bucket->sum);
    if (bucket->share != bucket->range) add(bucket->mine);
  }
  return sum;
}

}  // namespace weft
