// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/unigram/trie.h"

#include <algorithm>

namespace weft {

PieceTrie::PieceTrie(std::vector<Piece> pieces) {
  std::ranges::sort(pieces);
  // The node at place i has the pieces [begin, end), which share their first `depth` bytes.
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Range> ranges = {{0, pieces.size(), 0}};
  for (size_t i = 0; i < nodes_.size(); ++i) {
    auto [begin, end, depth] = ranges[i];
    if (begin < end && pieces[begin].first.size() == depth) nodes_[i].id = pieces[begin++].second;
    nodes_[i].first = static_cast<uint32_t>(nodes_.size());
    while (begin < end) {
      const char byte = pieces[begin].first[depth];
      size_t after = begin;
      while (after < end && pieces[after].first[depth] == byte) ++after;
      ++nodes_[i].children;
      nodes_.push_back({.byte = static_cast<uint8_t>(byte)});
      ranges.push_back({begin, after, depth + 1});
      begin = after;
    }
  }
  for (uint32_t i = 0; i < nodes_[kRoot].children; ++i) of_root_[nodes_[1 + i].byte] = 1 + i;
}

uint32_t PieceTrie::child(uint32_t node, uint8_t byte) const {
  if (node == kRoot) return of_root_[byte];
  const auto begin = nodes_.begin() + nodes_[node].first, end = begin + nodes_[node].children;
  const auto found = std::ranges::lower_bound(begin, end, byte, {}, &Node::byte);
  return found != end && found->byte == byte ? static_cast<uint32_t>(found - nodes_.begin()) : kRoot;
}

int32_t PieceTrie::find(std::string_view text) const {
  uint32_t node = kRoot;
  for (const char byte : text) {
    node = child(node, static_cast<uint8_t>(byte));
    if (node == kRoot) return -1;
  }
  return id(node);
}

}  // namespace weft
