// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft {

// Calls visit(is_learnt, first token, tokens) for each part of a conversation. `turns`: the lengths of its parts, which
// are context and learnt in turn.
template <class Visit>
void for_each_turn(std::span<const int32_t> turns, Visit&& visit) {
  size_t begin = 0;
  bool is_learnt = false;
  for (const int32_t turn : turns) {
    visit(is_learnt, begin, static_cast<size_t>(turn));
    begin += static_cast<size_t>(turn);
    is_learnt = !is_learnt;
  }
}

}  // namespace weft
