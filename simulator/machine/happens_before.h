// SPDX-License-Identifier: Apache-2.0
// Which operations of a device are known to come after which: streams, events and the host's waits decide, and runtime/
// knows them. The machine and its memory only ask.
#pragma once

#include <cstdint>
#include <string>

namespace weft::cuda_device {

// An operation in a stream: a launch, a copy, a memset, a library's work. Numbers are given by runtime/ and never
// again.
using OpId = uint64_t;
constexpr OpId kBeforeAll = 0;  // what was there before all operations: every operation is ordered after it

class HappensBefore {
 public:
  virtual ~HappensBefore() = default;

  // Is all that `before` did known to be finished when `after` starts, whatever the schedule? Not asked for equal ones.
  virtual bool ordered(OpId before, OpId after) const = 0;

  // Is every operation of its device that has not run yet, enqueued already or not, ordered after `op`? From then on
  // memory treats it as kBeforeAll and never names it again. Answers of "no" cost memory, nothing else.
  virtual bool settled(OpId op) const = 0;

  // For messages: "launch of layer_norm, stream 2".
  virtual std::string describe(OpId op) const = 0;
};

}  // namespace weft::cuda_device
