// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of every call of the runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <string>

#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

inline cudaError_t as_error(Status status) { return static_cast<cudaError_t>(status); }

// Records a failure as the thread's last error.
inline cudaError_t answer(Status status) {
  if (status != Status::Success && status != Status::NotReady) this_thread().last_error = status;
  return as_error(status);
}

inline int driver_version(const Simulator& all) {
  return all.settings.driver != 0 ? all.settings.driver : CUDART_VERSION;
}

// Success if there is a device and the driver is for the runtime's major version or a later one.
inline Status any_device(const Simulator& all) {
  if (driver_version(all) / 1000 < CUDART_VERSION / 1000) return Status::InsufficientDriver;
  return all.settings.devices > 0 ? Status::Success : Status::NoDevice;
}

// Runs `call` under the lock, unless there is no device or the thread's device has failed: then that is returned.
template <class Call>
cudaError_t answer_of(Call&& call) {
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  if (const Status any = any_device(all); any != Status::Success) return answer(any);
  if (const Status failed = all.health(this_thread().device); failed != Status::Success) return answer(failed);
  return answer(call(all));
}

// Ends the program at a call, or an argument of a call, that is not simulated.
[[noreturn]] inline void refuse_call(const std::string& call, const std::string& argument) {
  refuse(call + ": " + argument + " is not simulated");
}

// C's streams and events are those of the simulator; nullptr: the event does not belong to the simulator.
inline Event* event_of(Simulator& all, cudaEvent_t event) {
  auto* own = reinterpret_cast<Event*>(event);
  return all.has(own) ? own : nullptr;
}
inline cudaStream_t handle_of(Stream& stream) { return reinterpret_cast<cudaStream_t>(&stream); }
inline cudaEvent_t handle_of(Event& event) { return reinterpret_cast<cudaEvent_t>(&event); }

// A call that waits, or may wait, breaks a capture that forbids it.
Status check_no_capture(Simulator& all);

// Runs `call` with the stream that C names.
template <class Call>
cudaError_t on_stream(cudaStream_t stream, Call&& call) {
  return answer_of([&](Simulator& all) {
    Stream* own = all.stream_of(stream);
    if (!own) return Status::InvalidResourceHandle;
    if (own->capture == nullptr && (stream == nullptr || stream == cudaStreamLegacy))
      if (const Status status = check_no_capture(all); status != Status::Success) return Status::StreamCaptureImplicit;
    return call(all, *own);
  });
}

}  // namespace weft::cuda_device
