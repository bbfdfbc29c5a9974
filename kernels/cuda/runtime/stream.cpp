// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/stream.h"

#include "kernels/cuda/runtime/errors.h"

namespace weft::cuda {

void select_device(int device) { check(cudaSetDevice(device), "choosing a device"); }

Event::Event(int device, Kind kind) {
  select_device(device);
  const unsigned flags = kind == Kind::Time ? cudaEventDefault : cudaEventDisableTiming;
  check(cudaEventCreateWithFlags(&event_, flags), "making an event");
}
Event::~Event() { check_quietly(cudaEventDestroy(event_), "ending an event"); }
void Event::wait() const { check(cudaEventSynchronize(event_), "waiting for an event"); }
double Event::milliseconds_since(const Event& other) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, other.event_, event_), "reading the time between two events");
  return milliseconds;
}

// Non-blocking: such a stream does not wait for the default stream, which weft does not use.
Stream::Stream(int device, Priority priority) : device_(device) {
  select_device(device);
  int usual = 0, high = 0;
  check(cudaDeviceGetStreamPriorityRange(&usual, &high), "asking for the priorities of streams");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority == Priority::High ? high : usual),
        "making a stream");
}
Stream::~Stream() { check_quietly(cudaStreamDestroy(stream_), "ending a stream"); }
void Stream::record(const Event& event) const {
  select_device(device_);
  check(cudaEventRecord(event.get(), stream_), "recording an event");
}
void Stream::record_at_launches(const Event& event) const {
  select_device(device_);
  check(cudaEventRecordWithFlags(event.get(), stream_, cudaEventRecordExternal), "recording an event in a graph");
}
void Stream::wait(const Event& event) const {
  select_device(device_);
  check(cudaStreamWaitEvent(stream_, event.get(), cudaEventWaitDefault), "waiting for an event in a stream");
}
bool Stream::capturing() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream_, &status), "asking whether a stream is captured");
  return status != cudaStreamCaptureStatusNone;
}
void Stream::finish() const { check(cudaStreamSynchronize(stream_), "waiting for a stream"); }

}  // namespace weft::cuda
