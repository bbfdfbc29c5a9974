// SPDX-License-Identifier: Apache-2.0
#include "kernels/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "kernels/context.h"
#include "kernels/device/queue_clock.h"

namespace weft {
namespace {

// The host's clock, for a queue that is the calling thread.
class HostClock : public QueueClock {
 public:
  void start() override { marks_.clear(), zero_ = Trace::Clock::now(); }
  int64_t mark() override {
    marks_.push_back(seconds(Trace::Clock::now() - zero_));
    return static_cast<int64_t>(marks_.size()) - 1;
  }
  std::vector<double> stop() override { return std::exchange(marks_, {}); }

 private:
  static double seconds(Trace::Clock::duration time) { return std::chrono::duration<double>(time).count(); }

  Trace::Clock::time_point zero_;
  std::vector<double> marks_;
};

}  // namespace

Trace::Trace(Context& context) : context_(context) {}
Trace::~Trace() = default;

void Trace::start() {
  if (!clock_) clock_ = make_queue_clock(context_);
  if (!clock_) clock_ = std::make_unique<HostClock>();
  context_.finish();
  const std::lock_guard lock(mutex_);
  of_queue_.clear(), of_host_.clear(), lost_ = 0;
  clock_->start();
  zero_ = Clock::now();
  on_ = true;
}

Trace::Record Trace::stop() {
  on_ = false;
  context_.finish();
  const std::vector<double> marks = clock_ ? clock_->stop() : std::vector<double>();
  const std::lock_guard lock(mutex_);
  Record record{.zero = zero_, .spans = std::exchange(of_host_, {}), .lost = std::exchange(lost_, 0)};
  for (OfQueue& made : std::exchange(of_queue_, {})) {
    made.span.begin = marks[static_cast<size_t>(made.begin)], made.span.end = marks[static_cast<size_t>(made.end)];
    record.spans.push_back(std::move(made.span));
  }
  std::ranges::stable_sort(record.spans, {}, &TraceSpan::end);
  return record;
}

int64_t Trace::mark_queue() { return clock_->mark(); }

bool Trace::has_room() {
  if (of_queue_.size() + of_host_.size() < kMostSpans) return true;
  ++lost_;
  return false;
}

void Trace::add(SpanKind kind, std::string what, int64_t begin, int64_t end, Amount amount) {
  if (begin == kNone || end == kNone) return;
  const std::lock_guard lock(mutex_);
  if (!has_room()) return;
  of_queue_.push_back(
      {{.kind = kind, .what = std::move(what), .bytes = amount.bytes, .flops = amount.flops}, begin, end});
}

void Trace::add_of_host(SpanKind kind, std::string what, Clock::time_point begin, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  if (!on() || begin < zero_ || !has_room()) return;
  const auto since = [this](Clock::time_point at) { return std::chrono::duration<double>(at - zero_).count(); };
  of_host_.push_back({.kind = kind, .what = std::move(what), .begin = since(begin), .end = since(end)});
}

QueueSpan::QueueSpan(Context& context, SpanKind kind, const char* what, int64_t index)
    : trace_(context.trace()), kind_(kind), what_(what), index_(index), begin_(trace_.mark()) {}

QueueSpan::~QueueSpan() {
  if (begin_ == Trace::kNone) return;
  trace_.add(kind_, index_ < 0 ? what_ : fmt::format("{} {}", what_, index_), begin_, trace_.mark());
}

HostSpan::HostSpan(Trace& trace, SpanKind kind, std::string what)
    : trace_(trace), kind_(kind), what_(std::move(what)), on_(trace.on()) {
  if (on_) begin_ = Trace::Clock::now();
}

HostSpan::~HostSpan() {
  if (on_) trace_.add_of_host(kind_, std::move(what_), begin_, Trace::Clock::now());
}

}  // namespace weft
