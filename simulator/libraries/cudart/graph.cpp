// SPDX-License-Identifier: Apache-2.0
// Graphs that a stream capture records, and their launches.
#include <memory>
#include <vector>

#include "simulator/libraries/cudart/answer.h"

using namespace weft::cuda_device;

namespace {

struct GraphHandle {
  std::shared_ptr<Graph> graph;
};
// An instantiated graph, with streams for the branches that do not run in the stream of the launch.
struct GraphProgram {
  std::shared_ptr<Graph> graph;
  std::vector<Stream*> branches;
};
GraphHandle& of(cudaGraph_t graph) { return *reinterpret_cast<GraphHandle*>(graph); }
GraphProgram& of(cudaGraphExec_t program) { return *reinterpret_cast<GraphProgram*>(program); }

Capture::Forbids forbidden_by(cudaStreamCaptureMode mode) {
  switch (mode) {
    case cudaStreamCaptureModeRelaxed:
      return Capture::Forbids::Nothing;
    case cudaStreamCaptureModeThreadLocal:
      return Capture::Forbids::ThisThread;
    default:
      return Capture::Forbids::AllThreads;
  }
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    if (!stream || stream == cudaStreamLegacy) return Status::StreamCaptureUnsupported;
    if (own.capture) return static_cast<Status>(cudaErrorIllegalState);
    all.schedule.begin_capture(own);
    own.capture->forbids = forbidden_by(mode);
    own.capture->thread = std::this_thread::get_id();
    return Status::Success;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    *graph = nullptr;
    if (!own.capture) return static_cast<Status>(cudaErrorIllegalState);
    if (own.branch != 0) return Status::StreamCaptureUnmatched;
    const bool broken = own.capture->broken;
    std::shared_ptr<Graph> captured = all.schedule.end_capture(own);
    if (broken) return Status::StreamCaptureInvalidated;
    if (!captured) return Status::StreamCaptureUnjoined;
    *graph = reinterpret_cast<cudaGraph_t>(new GraphHandle{std::move(captured)});
    return Status::Success;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return answer_of([&](Simulator& all) {
    const Stream* own = all.stream_of(stream);
    if (!own) return Status::InvalidResourceHandle;
    *status = !own->capture          ? cudaStreamCaptureStatusNone
              : own->capture->broken ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
    return Status::Success;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* program, cudaGraph_t graph, unsigned long long) {
  return answer_of([&](Simulator& all) {
    auto made = std::make_unique<GraphProgram>(GraphProgram{of(graph).graph, {}});
    for (int branch = 1; branch < made->graph->branches; ++branch)
      made->branches.push_back(&all.schedule.create_stream(this_thread().device, false));
    *program = reinterpret_cast<cudaGraphExec_t>(made.release());
    return Status::Success;
  });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* program, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(program, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t program, cudaStream_t stream) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    if (own.capture) refuse_call("cudaGraphLaunch", "a graph launched in a captured stream");
    for (const Graph::Node& node : of(program).graph->nodes)
      if (node.records && !all.has(node.records)) refuse_call("cudaGraphLaunch", "a record of an event that is gone");
    all.schedule.replay(*of(program).graph, own, of(program).branches);
    return Status::Success;
  });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes) refuse_call("cudaGraphGetNodes", "the nodes themselves");
  *count = of(graph).graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete &of(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t program) {
  return answer_of([&](Simulator& all) {
    for (Stream* branch : of(program).branches) all.schedule.destroy_stream(*branch);
    delete &of(program);
    return Status::Success;
  });
}

}  // extern "C"
