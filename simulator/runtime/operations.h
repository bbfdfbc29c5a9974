// SPDX-License-Identifier: Apache-2.0
// Operations of streams, with vector clocks: which operations are known to be finished when another starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "simulator/machine/happens_before.h"

namespace weft::cuda_device {

// For every stream, by number, how many of its operations are known to be finished.
using Clock = std::vector<uint32_t>;
void join(Clock& into, const Clock& other);

// An operation is kept only while the question "was this finished before that started?" has two answers. Once every
// operation still to run comes after it, it is forgotten, so a training run of any length needs bounded memory.
class Operations : public HappensBefore {
 public:
  // Adds the next operation of a stream; `before`: the operations that its stream knows to be finished.
  OpId add(uint32_t stream, uint32_t number, Clock before, std::string name);
  void finish(OpId id);
  bool finished(OpId id) const;
  bool ordered(OpId before, OpId after) const override;
  bool settled(OpId id) const override { return id < first_; }
  // The operations known to be finished once this one is.
  Clock clock_after(OpId id) const;
  std::string describe(OpId id) const override;  // "copy of 64 bytes (operation 12, stream 2)"
  // Forgets the oldest operations that are finished and part of `floor`, which every later operation will know.
  void forget(const Clock& floor);
  size_t kept() const { return kept_.size(); }

 private:
  struct Entry {
    uint32_t stream = 0, number = 0;
    Clock before;
    std::string name;
    bool finished = false;
  };
  const Entry* find(OpId id) const;  // null: forgotten
  std::deque<Entry> kept_;
  OpId first_ = kBeforeAll + 1;  // the id of kept_.front()
};

}  // namespace weft::cuda_device
