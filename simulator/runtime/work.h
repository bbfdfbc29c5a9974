// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "simulator/machine/happens_before.h"

namespace weft::cuda_device {

// The work of an operation. It may run more than once: a graph is launched many times.
struct Work {
  std::string name;                // for messages: "launch of layer_norm"
  std::function<void(OpId)> body;  // nullptr: it only has a place in the stream's order
  double microseconds = 1;         // in the simulator's own time, which is the same for every schedule
  std::function<bool()> ready;     // nullptr: always ready; else the work runs once this is true
  // Makes the work that each launch of a graph puts into a stream. nullptr: a copy of this work.
  std::function<Work()> again = {};
};

}  // namespace weft::cuda_device
