// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/gradient_buckets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/ops/elementwise.h"
#include "parallel/rank_order_sums.h"

namespace weft {

struct GradientBuckets::Bucket {
  size_t index;
  FlatRange range;
  std::optional<FlatRange> owned;            // this rank's share, if the layout is sharded
  std::vector<const Parameter*> parameters;  // parameters whose gradients lie in the range
  Tensor gradient;                           // gradient of the whole range
  Tensor sum;                                // sum of the owned share, apart if it is added to earlier ones
  std::unique_ptr<CollectiveWork> pending;
  std::unique_ptr<RoundedSum> rounded;  // instead, if gradients are sent in bf16
};

GradientBuckets::GradientBuckets(ParameterRegistry& registry) : registry_(registry) {
  const FlatLayout& layout = registry.layout();
  for (size_t b = 0; b < layout.trained_buckets; ++b) {
    auto bucket = std::make_unique<Bucket>();
    bucket->index = b;
    bucket->range = layout.buckets[b];
    if (layout.sharded()) bucket->owned = layout.owned[b];
    if (registry.flat_gradient()) {
      bucket->gradient =
          registry.flat_gradient().flat(bucket->range.begin - layout.trained_begin, Shape{bucket->range.size()});
    }
    buckets_.push_back(std::move(bucket));
  }
  for (const auto& p : registry.parameters()) {
    if (!p->spec().frozen) buckets_[layout.bucket_of[p->index()]]->parameters.push_back(p.get());
  }
  contributions_.resize(registry.parameters().size());
  if (registry.sums_exactly()) exact_ = std::make_unique<ExactSums>(registry);
}

GradientBuckets::~GradientBuckets() = default;

Tensor GradientBuckets::gradient_of(const Parameter& parameter) const {
  const Bucket& bucket = *buckets_[registry_.layout().bucket_of[parameter.index()]];
  return bucket.gradient.flat(parameter.flat_offset() - bucket.range.begin, parameter.local_shape());
}

Gradient GradientBuckets::contribute(const Parameter& parameter) {
  if (parameter.spec().frozen) return {};
  hold(*buckets_[registry_.layout().bucket_of[parameter.index()]]);
  const bool first = !std::exchange(contributions(parameter).any, true);
  return {gradient_of(parameter), first ? Accumulate::Overwrite : Accumulate::Add};
}

void GradientBuckets::hold(Bucket& bucket) {
  if (bucket.gradient) return;
  complete(bucket);
  Context& context = registry_.context();
  bucket.gradient = context.empty(Shape{bucket.range.size()}, registry_.reduced_gradient().data.dtype());
  // The reduction also sums the padding between parameters, which no operation writes.
  fill(context, bucket.gradient, 0);
}

void GradientBuckets::begin_step() {
  std::ranges::fill(contributions_, Contributions{});
  next_ = 0;
  first_round_ = true;
  all_started_ = false;
  exposed_ = 0;
  if (exact_) exact_->begin_step();
}

void GradientBuckets::begin_micro_batch(bool last) {
  reducing_ = last || divides_gradients();
  if (!exact_) return;
  for (Contributions& of : contributions_) of.any = false;
}

void GradientBuckets::open_use(const Parameter& parameter) { contributions(parameter).open_uses += 1; }

void GradientBuckets::close_use(const Parameter& parameter) noexcept { contributions(parameter).open_uses -= 1; }

void GradientBuckets::start(Bucket& bucket) {
  if (probing_) return probe(bucket);
  const CollectiveUse use{"gradient bucket", static_cast<int64_t>(next_)};
  if (exact_) return start_exact(bucket, use);
  Communicator& dp = registry_.mesh().dp();
  if (dp.size() == 1) return;
  if (bucket.owned) {
    const Tensor mine = registry_.reduced_gradient().piece(*bucket.owned);
    bucket.sum = first_round_ ? mine : registry_.context().empty(mine.shape(), mine.dtype());
  }
  if (registry_.gradient_dtype() == GradientDType::Bf16) return start_rounded(bucket, use);
  bucket.pending = bucket.owned ? dp.start_reduce_scatter(bucket.gradient, bucket.sum, use)
                                : dp.start_all_reduce(bucket.gradient, ReduceOp::Sum, use);
}

// The parts of the bucket before have had the time of this bucket's backward to come: they are added now, so that few
// of them are held at a time, and the gather that follows an undivided sum overlaps with backward too.
void GradientBuckets::start_rounded(Bucket& bucket, CollectiveUse use) {
  if (next_ > 0) {
    Bucket& before = *buckets_[next_ - 1];
    before.owned ? complete(before) : before.rounded->gather();
  }
  bucket.rounded = std::make_unique<RoundedSum>(registry_.context(), registry_.mesh().dp(), bucket.gradient, use);
  if (divides_gradients()) bucket.gradient = {};
}

// As with rounded sums; but where gradients are held anyway, an earlier bucket is added, so that replicas of which now
// one and now the other is ahead do not wait for each other.
void GradientBuckets::start_exact(Bucket& bucket, CollectiveUse use) {
  constexpr size_t kUnderWay = 4;
  if (divides_gradients() && next_ > 0) complete(*buckets_[next_ - 1]);
  if (!divides_gradients() && next_ >= kUnderWay) exact_->settle(next_ - kUnderWay);
  if (watching_) add_digest(bucket);
  exact_->start(next_, bucket.gradient, {.first = first_round_, .last = reducing_}, use);
}

void GradientBuckets::add_digest(const Bucket& bucket) {
  for (const Parameter* p : bucket.parameters) digest_->add(gradient_of(*p), p->index());
}

void GradientBuckets::probe(Bucket& bucket) {
  add_digest(bucket);
  if (divides_gradients()) bucket.gradient = {};
}

void GradientBuckets::begin_probe() {
  std::ranges::fill(contributions_, Contributions{});
  next_ = 0;
  digest_.emplace(registry_.context());
  probing_ = true;
}

uint64_t GradientBuckets::end_probe() {
  start_rest();
  next_ = 0;
  probing_ = false;
  return digest_->value();
}

void GradientBuckets::watch() {
  if (!exact_) return;
  watching_ = true;
  digest_.emplace(registry_.context());
  exact_->watch();
}

WatchedGradients GradientBuckets::watched() const {
  WatchedGradients watched;
  if (exact_ && digest_) watched.first = digest_->value(), watched.balance = exact_->balance();
  const bool all = registry_.mesh().dp().size() > 1 && !registry_.layout().sharded();
  if (all) watched.sums = digest_of(registry_.context(), registry_.reduced_gradient().data, 0);
  return watched;
}

void GradientBuckets::start_ready() {
  for (; next_ < buckets_.size(); ++next_) {
    Bucket& bucket = *buckets_[next_];
    const bool ready = std::ranges::all_of(bucket.parameters, [this](const Parameter* p) {
      return contributions(*p).any && contributions(*p).open_uses == 0;
    });
    if (!ready) return;
    start(bucket);
  }
}

void GradientBuckets::start_rest() {
  for (; next_ < buckets_.size(); ++next_) {
    hold(*buckets_[next_]);
    for (const Parameter* p : buckets_[next_]->parameters) {
      if (!contributions(*p).any) fill(registry_.context(), gradient_of(*p), 0);
    }
    start(*buckets_[next_]);
  }
}

void GradientBuckets::progress() {
  if (reducing_ || exact_ || probing_) start_ready();
  if (next_ > 0) registry_.mesh().dp().progress();
}

// Waits for a bucket's reduction and stores its result.
void GradientBuckets::complete(Bucket& bucket) {
  if (!exact_ && !bucket.pending && !bucket.rounded) return;
  const Traffic& traffic = registry_.mesh().dp().traffic();
  const double before = traffic.total().wait_seconds;
  if (exact_) {
    exact_->complete(bucket.index);
  } else if (bucket.pending) {
    bucket.pending->wait();
  } else {
    bucket.owned ? bucket.rounded->add(bucket.sum) : bucket.rounded->finish(bucket.gradient);
  }
  bucket.pending.reset(), bucket.rounded.reset();
  exposed_ += traffic.total().wait_seconds - before;
  if (bucket.owned && !exact_) {
    const Tensor mine = registry_.reduced_gradient().piece(*bucket.owned);
    if (bucket.sum.storage() != mine.storage()) add_scaled(registry_.context(), bucket.sum, 1, mine);
    bucket.sum = {};
  }
  if (!divides_gradients()) return;
  bucket.gradient = {};
  for (const Parameter* p : bucket.parameters) contributions(*p).any = false;
}

void GradientBuckets::end_micro_batch() {
  if (!divides_gradients() && (!exact_ || all_started_)) return;
  start_rest();
  watching_ = false;
  all_started_ = reducing_ && !divides_gradients();
  if (all_started_) return;
  for (const auto& bucket : buckets_) complete(*bucket);
  next_ = 0;
  first_round_ = false;
}

double GradientBuckets::finish() {
  reducing_ = true;
  if (!divides_gradients() && !all_started_) start_rest();
  for (const auto& bucket : buckets_) complete(*bucket);
  if (exact_) {
    exact_->finish();
    return exposed_;
  }
  for (const GridAxis& grid : kReplicaAxes) reduce_partial_gradients(grid.axis);
  return exposed_;
}

// Sums the gradients of which each rank of the axis has only a part, in one message.
void GradientBuckets::reduce_partial_gradients(MeshAxis axis) {
  Communicator& ranks = registry_.mesh().on(axis);
  if (ranks.size() == 1) return;
  std::vector<Tensor> parts;
  int64_t total = 0;
  for (const auto& p : registry_.parameters()) {
    if (!p->spec().partial_over.contains(axis) || p->spec().frozen) continue;
    for (const FlatRange& part : registry_.reduced_gradient().parts(p->range())) {
      parts.push_back(registry_.reduced_gradient().piece(part));
      total += part.size();
    }
  }
  if (total == 0) return;
  Context& context = registry_.context();
  const Tensor message = context.empty(Shape{total}, registry_.reduced_gradient().data.dtype());
  const auto each = [&](auto&& move) {
    int64_t at = 0;
    for (const Tensor& part : parts) {
      move(part, message.flat(at, part.shape()));
      at += part.elements();
    }
  };
  each([&](const Tensor& part, const Tensor& place) { convert(context, part, place); });
  ranks.all_reduce(message);
  each([&](const Tensor& part, const Tensor& place) { convert(context, place, part); });
}

}  // namespace weft
