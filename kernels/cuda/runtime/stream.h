// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace weft::cuda {

// Makes a device the calling thread's own, as each thread that works on it must. Costs next to nothing where it is
// already.
void select_device(int device);

// A mark in a stream's work. What times is recorded with more work than what only orders.
class Event {
 public:
  enum class Kind : uint8_t { Order, Time };
  explicit Event(int device, Kind kind = Kind::Order);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void wait() const;  // the host waits until what was before the mark is done; at once if it was never set
  // Since another mark, both of kind Time, in the stream and done.
  double milliseconds_since(const Event& other) const;

 private:
  cudaEvent_t event_ = nullptr;
};

// A queue of work on one device. Work of two streams runs in any order, but for what events say.
class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const { return device_; }
  cudaStream_t get() const { return stream_; }
  void record(const Event& event) const;  // sets the mark after all that is queued
  void wait(const Event& event) const;    // what is queued from here on comes after the mark
  void finish() const;                    // the host waits for all that is queued
  bool capturing() const;                 // what is queued goes into a graph, and does not run

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace weft::cuda
