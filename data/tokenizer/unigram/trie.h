// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// The texts of pieces with their ids, looked up byte by byte. The children of a node lie side by side, by their bytes.
class PieceTrie {
 public:
  using Piece = std::pair<std::string_view, int32_t>;
  static constexpr uint32_t kRoot = 0;  // is nobody's child: also says that there is no child

  PieceTrie() = default;
  explicit PieceTrie(std::vector<Piece> pieces);  // texts are different and not empty

  uint32_t child(uint32_t node, uint8_t byte) const;
  int32_t id(uint32_t node) const { return nodes_[node].id; }  // -1: no piece ends here
  int32_t find(std::string_view text) const;                   // -1: no piece has this text

 private:
  struct Node {
    int32_t id = -1;
    uint32_t first = 0;  // child
    uint16_t children = 0;
    uint8_t byte = 0;
  };

  std::vector<Node> nodes_ = {Node{}};
  std::array<uint32_t, 256> of_root_{};  // children of the root, which has most of them
};

}  // namespace weft
