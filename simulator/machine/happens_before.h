// SPDX-License-Identifier: Apache-2.0
// Which operations of a device are known to come after which. Streams, events and the host's waits decide; runtime/
// keeps this order, the machine and its memory only query it.
#pragma once

#include <cstdint>
#include <string>

namespace weft::cuda_device {

// An operation in a stream: a launch, a copy, a memset, a library's work. runtime/ gives each a unique number.
using OpId = uint64_t;
constexpr OpId kBeforeAll = 0;  // older than all operations: every operation is ordered after it

class HappensBefore {
 public:
  virtual ~HappensBefore() = default;

  // Whether `before` is known to be finished when `after` starts, in every schedule. The two must differ.
  virtual bool ordered(OpId before, OpId after) const = 0;

  // Whether every operation of its device that has not run yet, enqueued or not, is ordered after `op`. From then on
  // memory treats it as kBeforeAll and never names it again. The answer "no" is always safe, but costs memory.
  virtual bool settled(OpId op) const = 0;

  // A description for messages: "launch of layer_norm, stream 2".
  virtual std::string describe(OpId op) const = 0;
};

}  // namespace weft::cuda_device
