// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "simulator/machine/happens_before.h"

namespace weft::cuda_device {

// What an operation does when its turn comes. It may run more than once: a graph is launched again and again.
struct Work {
  std::string name;                // for messages: "launch of layer_norm"
  std::function<void(OpId)> body;  // null: it only stands in the stream's order
  double microseconds = 1;         // in the simulator's own time, which is the same for every schedule
  std::function<bool()> ready;     // null: from the start; otherwise it runs once this says so
  // What a graph puts into a stream instead, made anew at each launch. Null: this very work.
  std::function<Work()> again = {};
};

}  // namespace weft::cuda_device
