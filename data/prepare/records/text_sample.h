// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// A sample of texts, each drawn with the same chance: those with the least draws, as many as fill `most_bytes` together
// (bottom-k sampling; Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). A text's draw is a
// keyed hash of its number, so the sample depends on the texts and their order alone, and nothing needs to be known of
// their number or size. Memory: `most_bytes` and one more text.
class TextSample {
 public:
  explicit TextSample(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string text);
  // The texts in the order in which they were added. At least one text, however long, if any was added.
  std::vector<std::string> take();

 private:
  struct Drawn {
    uint64_t draw;
    uint64_t number;
    std::string text;
    bool operator<(const Drawn& other) const { return draw != other.draw ? draw < other.draw : number < other.number; }
  };

  uint64_t most_bytes_;
  uint64_t bytes_ = 0;
  uint64_t number_ = 0;
  std::vector<Drawn> kept_;  // a heap: the greatest draw first
};

}  // namespace weft
