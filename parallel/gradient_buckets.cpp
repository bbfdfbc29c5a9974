#include <algorithm>
#include <chrono>
#include <cstring>

#include "parallel/parameter.h"

namespace weft {

struct GradientBuckets::Bucket {
  Tensor range;                        // a piece of the flat gradient
  std::vector<Parameter*> parameters;  // that lie in it
  std::unique_ptr<Pending> pending;
};

GradientBuckets::GradientBuckets(ParameterRegistry& registry, int64_t bucket_bytes) : registry_(registry) {
  const auto& parameters = registry.parameters();
  bucket_of_.resize(parameters.size());
  const Tensor& flat = registry.flat_gradient();
  const int64_t limit = std::max<int64_t>(bucket_bytes / static_cast<int64_t>(size_of(flat.dtype())), 1);
  int64_t end = flat.elements();
  std::vector<Parameter*> members;
  for (auto i = static_cast<int64_t>(parameters.size()) - 1; i >= 0; --i) {
    members.push_back(parameters[i].get());
    bucket_of_[i] = static_cast<int>(buckets_.size());
    const int64_t begin = parameters[i]->flat_offset_;
    if (end - begin < limit && i > 0) continue;
    auto bucket = std::make_unique<Bucket>();
    bucket->range = flat.flat(begin, Shape{end - begin});
    bucket->parameters = std::move(members);
    buckets_.push_back(std::move(bucket));
    members.clear();
    end = begin;
  }
}

GradientBuckets::~GradientBuckets() = default;

void GradientBuckets::begin_step() {
  for (const auto& p : registry_.parameters()) p->touched_ = false, p->expected_ = 0;
  next_ = 0;
  reducing_ = false;
}

void GradientBuckets::expect(Parameter& parameter) { parameter.expected_ += 1; }

void GradientBuckets::contributed(Parameter& parameter) {
  parameter.expected_ -= 1;
  if (reducing_) start_ready();
}

void GradientBuckets::start_ready() {
  while (next_ < buckets_.size()) {
    Bucket& bucket = *buckets_[next_];
    const bool ready =
        std::ranges::all_of(bucket.parameters, [](const Parameter* p) { return p->touched_ && p->expected_ == 0; });
    if (!ready) return;
    bucket.pending = registry_.mesh().dp().start_all_reduce(bucket.range, ReduceOp::Sum);
    ++next_;
  }
}

void GradientBuckets::progress() {
  if (next_ > 0) registry_.mesh().dp().progress();
}

double GradientBuckets::finish() {
  for (size_t i = next_; i < buckets_.size(); ++i) {
    for (Parameter* p : buckets_[i]->parameters) {
      const bool zero = !p->touched_ && !p->gradient_.meta();
      if (zero) std::memset(p->gradient_.raw(), 0, p->gradient_.bytes());
      p->touched_ = true;
      p->expected_ = 0;
    }
  }
  start_ready();
  const auto start = std::chrono::steady_clock::now();
  for (auto& bucket : buckets_) {
    if (bucket->pending) bucket->pending->wait();
    bucket->pending.reset();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace weft
