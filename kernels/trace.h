// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft {

class Context;
class QueueClock;

// Phase: a part of a step, which holds other spans. Operation: one call, on the device's queue. Wait: the queue waits
// for a collective, which is exposed communication, or for a copy. Collective: one that is under way, from its start
// until it was waited for. Control: the host waits for the hosts of other ranks. Data: the host waits for tokens. Load:
// the loader's thread reads tokens ahead. Save: a checkpoint is copied, written or committed.
enum class SpanKind : uint8_t { Phase, Operation, Wait, Collective, Control, Data, Load, Save };

// What happened from `begin` to `end`, in seconds since the trace was started.
struct TraceSpan {
  SpanKind kind = SpanKind::Phase;
  std::string what;  // "linear_backward", "dp.reduce_scatter, gradient bucket 3"
  double begin = 0, end = 0;
  double bytes = 0, flops = 0;  // 0: not counted
};

// Records what one rank does when. It is off until start(), and costs two branches an operation while it is off. Spans
// of the queue are timed by the device's own clock, since a host only queues: on a CPU that is the host's clock.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;
  // Of more spans, which a long stretch of steps may have, the later ones are only counted: 10 MB of a rank's timeline.
  static constexpr size_t kMostSpans = size_t{1} << 16;

  explicit Trace(Context& context);
  ~Trace();
  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Waits for the device, and records from then on. For the thread that runs the context's operations, as stop() is.
  void start();
  // Waits for the device, and records no more.
  struct Record {
    Clock::time_point zero;        // when it was started
    std::vector<TraceSpan> spans;  // in the order in which they ended
    int64_t lost = 0;              // spans beyond kMostSpans
  };
  Record stop();

  // A point on the queue, behind all that is queued so far; kNone while the trace is off, or a graph is captured, whose
  // inside cannot be timed. For the thread that runs the context's operations.
  static constexpr int64_t kNone = -1;
  int64_t mark() { return on() ? mark_queue() : kNone; }
  // A span between two marks. Nothing is recorded if either is kNone.
  struct Amount {
    double bytes = 0, flops = 0;
  };
  void add(SpanKind kind, std::string what, int64_t begin, int64_t end, Amount amount = {0, 0});
  // A span of a thread of the host. For any thread.
  void add_of_host(SpanKind kind, std::string what, Clock::time_point begin, Clock::time_point end);

 private:
  struct OfQueue {
    TraceSpan span;
    int64_t begin, end;
  };
  int64_t mark_queue();
  bool has_room();

  Context& context_;
  std::atomic<bool> on_{false};
  std::unique_ptr<QueueClock> clock_;  // once it was started
  std::mutex mutex_;                   // held around the members below
  Clock::time_point zero_;
  std::vector<OfQueue> of_queue_;
  std::vector<TraceSpan> of_host_;
  int64_t lost_ = 0;
};

// Adds a span of the queue from its construction to its end.
class QueueSpan {
 public:
  QueueSpan(Context& context, SpanKind kind, const char* what, int64_t index = -1);
  ~QueueSpan();
  QueueSpan(const QueueSpan&) = delete;
  QueueSpan& operator=(const QueueSpan&) = delete;

 private:
  Trace& trace_;
  SpanKind kind_;
  const char* what_;
  int64_t index_;  // follows `what`; -1: none
  int64_t begin_;
};

// Adds a span of the calling thread from its construction to its end.
class HostSpan {
 public:
  HostSpan(Trace& trace, SpanKind kind, std::string what);
  ~HostSpan();
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  Trace& trace_;
  SpanKind kind_;
  std::string what_;
  bool on_;
  Trace::Clock::time_point begin_;
};

}  // namespace weft
