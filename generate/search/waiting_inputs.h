// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "generate/search/search.h"

namespace weft {

// Tokens to feed, of one row after another, as NextTokenModel::advance() takes them.
struct FedTokens {
  std::vector<int32_t> tokens, offsets{0};

  void add(std::span<const int32_t> of_next_row) {
    tokens.insert(tokens.end(), of_next_row.begin(), of_next_row.end());
    offsets.push_back(static_cast<int32_t>(tokens.size()));
  }
};

// The inputs of a batch that have not begun: they are admitted to the model in their order, as others end. The time of
// admission changes no text, since a row's logits depend on that row alone.
class WaitingInputs {
 public:
  // At most `at_once` inputs are alive at the same time.
  WaitingInputs(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once)
      : model_(model), inputs_(inputs), at_once_(at_once) {}

  // Admits inputs, given how many are alive; returns the index of the first and their number. Admits none until a
  // quarter of the places are free, so that one pass reads the prompts or encodes the sources of several inputs.
  struct Admitted {
    size_t first = 0, count = 0;
  };
  Admitted admit(int64_t alive);
  bool empty() const { return begun_ == inputs_.size(); }

  // Feeds the rows that were alive before the last admit() their tokens, and the row of each admitted input its prompt,
  // or what the window holds of it.
  void feed(FedTokens tokens, const Admitted& admitted) const;

 private:
  NextTokenModel& model_;
  std::span<const SearchInput* const> inputs_;
  int64_t at_once_;
  size_t begun_ = 0;
};

}  // namespace weft
