// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/weight_gather.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"

namespace weft {

WeightGather::WeightGather(Context& context, Communicator& replicas, const FlatLayout& layout, Tensor flat)
    : replicas_(replicas),
      layout_(layout),
      flat_(std::move(flat)),
      due_(layout.buckets.size(), false),
      pending_(layout.buckets.size()),
      waits_(make_device_stopwatch(context)) {}

void WeightGather::updated(size_t bucket) {
  if (when_ == Begin::AtUpdate) return start(bucket);
  due_[bucket] = true;
}

void WeightGather::start(size_t bucket) {
  require<InternalError>(!pending_[bucket], "bucket {} is being gathered already", bucket);
  const FlatRange &mine = layout_.owned[bucket], &all = layout_.buckets[bucket];
  pending_[bucket] =
      replicas_.start_all_gather(flat_.flat(mine.begin, Shape{mine.size()}), flat_.flat(all.begin, Shape{all.size()}),
                                 {"weights of bucket", static_cast<int64_t>(bucket)});
  ++under_way_;
  replicas_.progress();
}

void WeightGather::start_due() {
  for (size_t bucket = due_.size(); bucket-- > 0;) {
    if (!due_[bucket]) continue;
    due_[bucket] = false;
    start(bucket);
  }
}

void WeightGather::wait(size_t bucket) {
  if (!pending_[bucket]) return;
  const auto began = std::chrono::steady_clock::now();
  if (waits_) waits_->start();
  pending_[bucket]->wait();
  if (waits_) waits_->stop();
  pending_[bucket].reset();
  --under_way_;
  if (!waits_) waited_ += seconds_since(began);
}

void WeightGather::await(size_t bucket) {
  require<InternalError>(!due_[bucket], "weights of bucket {} are read before they are gathered", bucket);
  if (under_way_ == 0) return;
  wait(bucket);
  replicas_.progress();
}

void WeightGather::await_all() {
  for (size_t bucket = pending_.size(); bucket-- > 0;) await(bucket);
}

void WeightGather::await_started() {
  for (size_t bucket = pending_.size(); bucket-- > 0;) wait(bucket);
}

void WeightGather::updated_by_graph() { std::fill_n(due_.begin(), layout_.trained_buckets, true); }

void WeightGather::forget_waited() {
  if (waits_) waits_->reset();
  waited_ = 0;
}

double WeightGather::take_waited() { return waits_ ? waits_->take() : std::exchange(waited_, 0); }

}  // namespace weft
