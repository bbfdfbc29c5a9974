// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/unigram/best_path.h"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr size_t kCharacterBytes = 4;

}  // namespace

BestPath::BestPath(const PieceTrie& trie, const std::vector<double>& scores, double unknown_score, size_t longest)
    : trie_(trie),
      scores_(scores),
      unknown_score_(unknown_score),
      sums_(std::bit_ceil(std::max(longest, kCharacterBytes) + 1)) {}

void BestPath::leave(std::string_view text, size_t at, uint32_t character_bytes) {
  const double sum = sum_at(at);
  bool is_piece = false;
  uint32_t node = PieceTrie::kRoot;
  for (size_t end = at; end < text.size();) {
    node = trie_.child(node, static_cast<uint8_t>(text[end]));
    if (node == PieceTrie::kRoot) break;
    ++end;
    const int32_t id = trie_.id(node);
    if (id < 0) continue;
    arrive(at, end, id, scores_[static_cast<size_t>(id)] + sum);
    is_piece = is_piece || end - at == character_bytes;
  }
  if (!is_piece) arrive(at, at + character_bytes, kUnknown, unknown_score_ + sum);
}

void BestPath::arrive(size_t at, size_t end, int32_t id, double sum) {
  const size_t place = end - cut_ - 1;
  if (place >= arrivals_.size()) arrivals_.resize(place + 1);
  Arrival& best = arrivals_[place];
  if (best.bytes > 0 && !(sum > sum_at(end))) return;
  best = {id, static_cast<uint32_t>(end - at)};
  sum_at(end) = sum;
}

void BestPath::trace_back(size_t end) {
  steps_.clear();
  for (size_t at = end; at > cut_;) {
    const Arrival& arrival = arrivals_[at - cut_ - 1];
    steps_.push_back({arrival.id, at - arrival.bytes, at});
    at -= arrival.bytes;
  }
  cut_ = end;
  arrivals_.clear();
}

}  // namespace weft
