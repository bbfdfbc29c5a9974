// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/captured_graph.h"

#include "kernels/cuda/runtime/errors.h"

namespace weft::cuda {
namespace {

// A capture that ends with this object, even if an exception ends the object.
class Capture {
 public:
  // Relaxed: the first operations of a graph may allocate device memory, as safely as without a capture.
  explicit Capture(const Stream& stream) : stream_(stream) {
    select_device(stream.device());
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "beginning a graph");
  }
  ~Capture() {
    if (!ended_) cudaStreamEndCapture(stream_.get(), &graph_), cudaGetLastError();
    if (graph_) check_quietly(cudaGraphDestroy(graph_), "ending a graph's description");
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraph_t end() {
    ended_ = true;
    check(cudaStreamEndCapture(stream_.get(), &graph_), "capturing operations into a graph");
    return graph_;
  }

 private:
  const Stream& stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace

CapturedGraph::CapturedGraph(const Stream& stream, const std::function<void()>& queue) : stream_(stream) {
  Capture capture(stream);
  queue();
  check(cudaGraphInstantiate(&program_, capture.end(), 0), "making a graph");
}

// Work of the graph that is under way still finishes.
CapturedGraph::~CapturedGraph() { check_quietly(cudaGraphExecDestroy(program_), "ending a graph"); }

void CapturedGraph::launch() {
  select_device(stream_.device());
  check(cudaGraphLaunch(program_, stream_.get()), "launching a graph");
  for (const auto& call : at_launches_) call();
}

}  // namespace weft::cuda
