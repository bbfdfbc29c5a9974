// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace weft {

// A set of this machine's logical processors, by number. A plain block of bytes, so that ranks can exchange it.
class ProcessorSet {
 public:
  static constexpr int kLimit = 8192;  // the most that Linux can be built for

  void add(int processor) { words_[word(processor)] |= bit(processor); }
  void add(const ProcessorSet& other);
  bool holds(int processor) const { return words_[word(processor)] & bit(processor); }
  int size() const;
  // "0-3,8": as taskset and /proc write it.
  std::string text() const;

 private:
  static size_t word(int processor) { return static_cast<size_t>(processor) / 64; }
  static uint64_t bit(int processor) { return uint64_t{1} << (processor % 64); }
  std::array<uint64_t, kLimit / 64> words_{};
};

// The processors that the calling thread may run on, as restricted by taskset, a container or a launcher.
ProcessorSet allowed_processors();

// The number of threads that process `me` should compute with beside the others of its machine; process i may run on
// masks[i]. A processor that n of them may use counts as 1/n for each; the sum is rounded down, and is 1 at least. So
// ranks bound to processors of their own use them all, and ranks that share processors divide these.
int fair_threads(std::span<const ProcessorSet> masks, size_t me);

}  // namespace weft
