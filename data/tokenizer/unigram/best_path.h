// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text/utf8.h"
#include "data/tokenizer/unigram/trie.h"

namespace weft {

// Splits a stretch of text into pieces whose scores have the highest sum (Viterbi; Kudo 2018, arXiv:1804.10959). A
// character that is no piece by itself may stand alone as unknown. Sums are doubles that grow from the stretch's
// beginning. Of equal sums the one found first stays: characters ascend, and at each its pieces before unknown, the
// shortest first. Takes time in proportion to the text, and memory to the longest part of it that has no place
// over which no piece reaches. Used by one thread at a time.
class BestPath {
 public:
  // `scores`: by id; trie and scores must outlive the search. `longest`: the bytes of the longest piece.
  BestPath(const PieceTrie& trie, const std::vector<double>& scores, double unknown_score, size_t longest);

  static constexpr int32_t kUnknown = -1;
  // Calls sink(id, begin, end) for the bytes of each piece, in order; an unknown character has kUnknown.
  template <class Sink>
  void split(std::string_view text, Sink&& sink);

 private:
  struct Arrival {
    int32_t id = kUnknown;
    uint32_t bytes = 0;  // 0: no piece ends here
  };
  struct Step {
    int32_t id;
    size_t begin, end;
  };

  void leave(std::string_view text, size_t at, uint32_t character_bytes);
  void arrive(size_t at, size_t end, int32_t id, double sum);
  void trace_back(size_t end);  // fills steps_ from the last cut up to `end`, which becomes the last cut
  double& sum_at(size_t place) { return sums_[place & (sums_.size() - 1)]; }

  const PieceTrie& trie_;
  const std::vector<double>& scores_;
  double unknown_score_;
  std::vector<double> sums_;       // of the best path to a place; a ring, since pieces reach only so far
  size_t cut_ = 0;                 // all paths pass through this place
  std::vector<Arrival> arrivals_;  // the last piece of the best path to the places behind the cut
  std::vector<Step> steps_;
};

template <class Sink>
void BestPath::split(std::string_view text, Sink&& sink) {
  cut_ = 0;
  arrivals_.clear();
  sum_at(0) = 0;
  const auto give = [&](size_t end) {
    trace_back(end);
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) sink(step->id, step->begin, step->end);
  };
  const char* const end = text.data() + text.size();
  for (size_t at = 0; at < text.size();) {
    if (at > cut_ && at == cut_ + arrivals_.size()) give(at);
    const uint32_t bytes = utf8_at(text.data() + at, end).length;
    leave(text, at, bytes);
    at += bytes;
  }
  if (!text.empty()) give(text.size());
}

}  // namespace weft
