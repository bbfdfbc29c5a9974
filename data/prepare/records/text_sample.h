// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Texts drawn from many, each with the same chance: those with the least draws, as many as hold so many bytes together
// (bottom-k sampling; Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). A text's draw is a
// keyed hash of its number, so the sample depends on the texts and their order alone, and nothing needs to be known of
// their number or size. Memory: these bytes and one text more.
class TextSample {
 public:
  explicit TextSample(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string text);
  // In the order in which they came. One text at least, however long, if any came.
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
