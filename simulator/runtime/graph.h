// SPDX-License-Identifier: Apache-2.0
// A graph that a stream capture records. It can be put into streams many times.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "simulator/runtime/work.h"

namespace weft::cuda_device {

struct Event;

struct Graph {
  struct Node {
    Work work;
    int branch = 0;             // 0: the stream that began the capture; then each stream that joined it
    std::vector<size_t> after;  // earlier nodes
    Event* records = nullptr;   // an event outside of the graph that each launch records
  };
  std::vector<Node> nodes;
  std::vector<size_t> frontier;  // the last nodes of the stream that began the capture
  int branches = 1;
};

struct Stream;

// A capture in progress.
struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();  // nullptr: the capture has ended
  std::vector<Stream*> members;                              // by branch
  bool broken = false;                                       // the program made a call that cannot be captured
  enum class Forbids { Nothing, ThisThread, AllThreads } forbids = Forbids::AllThreads;  // calls that may wait
  std::thread::id thread;                                                                // the thread that began it
};

}  // namespace weft::cuda_device
