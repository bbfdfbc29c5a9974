// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace weft::cuda {

// Makes a device the calling thread's current one, as each thread that works on it must. It costs almost nothing if the
// device is current already.
void select_device(int device);

// A mark in a stream's work. Marks that time cost more to record than marks that only order.
class Event {
 public:
  enum class Kind : uint8_t { Order, Time };
  explicit Event(int device, Kind kind = Kind::Order);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void wait() const;  // the host waits until the work before the mark is done; not at all if it was never set
  // The time since another mark; both are of kind Time, in the stream and done.
  double milliseconds_since(const Event& other) const;

 private:
  cudaEvent_t event_ = nullptr;
};

// A queue of work on one device. Events alone order the work of two streams. Where blocks of several wait for a
// multiprocessor, those of a stream of high priority are the next.
class Stream {
 public:
  enum class Priority : uint8_t { Usual, High };
  explicit Stream(int device, Priority priority = Priority::Usual);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const { return device_; }
  cudaStream_t get() const { return stream_; }
  void record(const Event& event) const;  // sets the mark after all queued work
  // While the stream is captured: each launch of the graph sets the mark, for the host to read.
  void record_at_launches(const Event& event) const;
  void wait(const Event& event) const;  // work queued from here on comes after the mark
  void finish() const;                  // the host waits for all queued work
  bool capturing() const;               // queued work goes into a graph, and does not run

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace weft::cuda
