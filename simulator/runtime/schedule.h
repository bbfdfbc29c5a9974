// SPDX-License-Identifier: Apache-2.0
// Streams as queues that run only when the host waits, in an order drawn at random among all that the program allows.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "simulator/runtime/graph.h"
#include "simulator/runtime/operations.h"
#include "simulator/runtime/work.h"

namespace weft::cuda_device {

// Work in its stream. It runs once all of `after` is finished and the work itself is ready.
struct Task {
  OpId id = kBeforeAll;
  std::vector<OpId> after;
  Work work;
};

struct Stream {
  int device = 0;
  uint32_t number = 0;    // the stream's number in clocks
  bool blocking = false;  // ordered with the device's legacy default stream
  int priority = 0;
  uint32_t count = 0;       // the number of operations ever put into it
  double microseconds = 0;  // time of all work ever put into it, in the simulator's own time
  OpId last = kBeforeAll;
  Clock clock;  // the operations that the stream's next one will know to be finished
  std::deque<Task> queue;
  std::shared_ptr<Capture> capture;  // nullptr: work put into the stream will run
  int branch = 0;                    // its branch in the captured graph
  std::vector<size_t> frontier;      // the nodes that this stream's next one comes after
};

struct Event {
  bool timed = true;
  bool recorded = false;
  OpId operation = kBeforeAll;
  int device = 0;
  double microseconds = 0;
  std::shared_ptr<Capture> capture;  // nullptr unless recorded in a stream that is captured
  std::vector<size_t> frontier;
};

// Not thread-safe: the caller holds Simulator::mutex.
class Schedule {
 public:
  explicit Schedule(uint64_t seed) : random_(seed) {}

  Stream& create_stream(int device, bool blocking);
  void destroy_stream(Stream& stream);  // the stream's work still runs
  bool has(const Stream* stream) const;
  // A device's default stream, which is ordered with all its blocking streams.
  Stream& legacy_stream(int device);
  std::vector<Stream*> streams_of(int device);

  // Puts work at the end of a stream, or into the graph that the stream captures (then: kBeforeAll).
  OpId enqueue(Stream& stream, Work work);
  void record(Event& event, Stream& stream);
  // Puts a record of the event into the graph that the stream captures: each launch records it again.
  void record_at_launches(Event& event, Stream& stream);
  void wait(Stream& stream, const Event& event);

  void begin_capture(Stream& stream);
  // Returns the captured graph; null if it holds work of another stream that `stream` never waited for.
  std::shared_ptr<Graph> end_capture(Stream& stream);
  // Puts all nodes into streams: those of the origin's branch into `stream`, the others into `branches`.
  void replay(const Graph& graph, Stream& stream, const std::vector<Stream*>& branches);

  // Runs the head of one stream, drawn at random; false if nothing can run.
  bool step();
  bool idle() const { return pending_ == 0; }
  bool finished(OpId id) const { return operations_.finished(id); }
  // Runs one operation now and then, so that a host that only polls makes progress.
  void perhaps_step();

  // The host has waited for `id`: all later work comes after it.
  void host_waited(OpId id);
  bool host_knows(OpId id) const;

  const Operations& operations() const { return operations_; }
  std::mt19937_64& random() { return random_; }
  void seed(uint64_t seed) { random_.seed(seed); }
  std::string waiting() const;  // the heads of streams that are not empty, for messages

 private:
  bool runnable(const Stream& stream) const;
  void order_with_legacy(Stream& stream, std::vector<OpId>& after);
  OpId append(Stream& stream, std::vector<OpId> after, Work work);
  void run(Task task);
  void forget();

  std::mt19937_64 random_;
  Operations operations_;
  Clock host_;
  std::map<uint32_t, std::unique_ptr<Stream>> streams_;  // by number
  std::vector<std::unique_ptr<Stream>> destroyed_;       // numbers that clocks still name, or queues not yet empty
  std::map<int, Stream*> legacy_;
  uint32_t next_number_ = 0;
  size_t pending_ = 0;
  size_t forget_at_ = 64;
};

}  // namespace weft::cuda_device
