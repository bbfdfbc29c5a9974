// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "simulator/machine/happens_before.h"

namespace weft::cuda_device {

// What an operation does in its turn. It may run more than once: a graph is launched many times.
struct Work {
  std::string name;                // for messages: "launch of layer_norm"
  std::function<void(OpId)> body;  // null: it only has a place in the stream's order
  double microseconds = 1;         // in the simulator's own time, which is the same for every schedule
  std::function<bool()> ready;     // null: always ready; else it runs once this is true
  // Makes the work that each launch of a graph puts into a stream. Null: this very work.
  std::function<Work()> again = {};
};

}  // namespace weft::cuda_device
