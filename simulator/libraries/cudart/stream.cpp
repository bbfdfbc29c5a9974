// SPDX-License-Identifier: Apache-2.0
// Streams, events and the host's waits.
#include <algorithm>

#include "simulator/libraries/cudart/answer.h"

namespace weft::cuda_device {

Status check_no_capture(Simulator& all) {
  Status status = Status::Success;
  for (int device = 0; device < all.settings.devices; ++device)
    for (const Stream* stream : all.schedule.streams_of(device)) {
      Capture* capture = stream->capture.get();
      if (!capture || capture->forbids == Capture::Forbids::Nothing) continue;
      if (capture->forbids == Capture::Forbids::ThisThread && capture->thread != std::this_thread::get_id()) continue;
      capture->broken = true;
      status = Status::StreamCaptureUnsupported;
    }
  return status;
}

namespace {

// Runs `call` with the event that C names.
template <class Call>
cudaError_t on_event(cudaEvent_t event, Call&& call) {
  return answer_of([&](Simulator& all) {
    Event* own = event_of(all, event);
    return own ? call(all, *own) : Status::InvalidResourceHandle;
  });
}

// A wait for a stream or an event in a capture is not allowed: the capture breaks.
Status break_capture(Capture& capture) {
  capture.broken = true;
  return Status::StreamCaptureUnsupported;
}

}  // namespace
}  // namespace weft::cuda_device

using namespace weft::cuda_device;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return answer_of([&](Simulator& all) {
    if (flags & ~cudaStreamNonBlocking) return Status::InvalidValue;
    Stream& made = all.schedule.create_stream(this_thread().device, flags != cudaStreamNonBlocking);
    made.priority = std::clamp(priority, DeviceLimits::kHighestPriority, 0);
    *stream = handle_of(made);
    return Status::Success;
  });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return on_stream(stream, [&](Simulator&, Stream& own) {
    *priority = own.priority;
    return Status::Success;
  });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return answer_of([&](Simulator& all) {
    Stream* own = stream ? all.stream_of(stream) : nullptr;
    if (!own || stream == cudaStreamLegacy) return Status::InvalidResourceHandle;
    all.schedule.destroy_stream(*own);
    return Status::Success;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    return own.capture ? break_capture(*own.capture) : all.wait_for(own);
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    if (own.capture) return break_capture(*own.capture);
    return all.finished(own.last) ? all.health(own.device) : Status::NotReady;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    Event* of = event_of(all, event);
    if (!of) return Status::InvalidResourceHandle;
    if (flags != cudaEventWaitDefault) refuse_call("cudaStreamWaitEvent", "flag " + std::to_string(flags));
    if (of->capture && !of->capture->graph) return static_cast<Status>(cudaErrorCapturedEvent);
    all.schedule.wait(own, *of);
    return Status::Success;
  });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return on_stream(stream, [&](Simulator&, Stream& own) {
    *flags = own.blocking || !stream ? cudaStreamDefault : cudaStreamNonBlocking;
    return Status::Success;
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return on_stream(stream, [&](Simulator&, Stream& own) {
    *device = own.device;
    return Status::Success;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    all.enqueue(own, "cudaLaunchHostFunc", [&all, function, data](OpId op) { all.run_on_host(op, function, data); });
    return Status::Success;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return answer_of([&](Simulator& all) {
    const Status status = check_no_capture(all);
    return status == Status::Success ? all.wait_for_device(this_thread().device) : status;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return answer_of([&](Simulator& all) {
    if (flags & cudaEventInterprocess) refuse_call("cudaEventCreateWithFlags", "cudaEventInterprocess");
    Event& made = all.create_event();
    made.timed = !(flags & cudaEventDisableTiming);
    made.device = this_thread().device;
    *event = handle_of(made);
    return Status::Success;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return on_event(event, [](Simulator& all, Event& own) {
    all.destroy(&own);
    return Status::Success;
  });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    Event* of = event_of(all, event);
    if (!of || of->device != own.device) return Status::InvalidResourceHandle;
    if (flags == cudaEventRecordExternal) {
      if (!own.capture) return Status::InvalidValue;
      all.schedule.record_at_launches(*of, own);
      return Status::Success;
    }
    if (flags != cudaEventRecordDefault) refuse_call("cudaEventRecordWithFlags", "flag " + std::to_string(flags));
    all.schedule.record(*of, own);
    return Status::Success;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return on_event(event, [](Simulator& all, Event& own) {
    return own.capture ? break_capture(*own.capture) : all.wait_for(own.device, own.operation);
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return on_event(event, [](Simulator& all, Event& own) {
    if (own.capture) return break_capture(*own.capture);
    return all.finished(own.operation) ? all.health(own.device) : Status::NotReady;
  });
}
// The simulated time between two events: that of the work put into the stream between them, at a fixed price for each
// kind. It is the same for every schedule, so a program that chooses by measuring makes the same choice.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return answer_of([&](Simulator& all) {
    const Event *first = event_of(all, start), *last = event_of(all, end);
    if (!first || !last || !first->timed || !last->timed || !first->recorded || !last->recorded)
      return Status::InvalidResourceHandle;
    if (!all.finished(first->operation) || !all.finished(last->operation)) return Status::NotReady;
    *milliseconds = static_cast<float>(std::max(0.0, last->microseconds - first->microseconds) / 1000);
    return Status::Success;
  });
}

}  // extern "C"
