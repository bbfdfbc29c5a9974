// SPDX-License-Identifier: Apache-2.0
#include "generate/search/waiting_inputs.h"

#include <algorithm>

#include "generate/search/window.h"

namespace weft {

WaitingInputs::Admitted WaitingInputs::admit(int64_t alive) {
  const int64_t free = at_once_ - alive;
  Admitted admitted{.first = begun_};
  if (empty() || 4 * free < at_once_) return admitted;
  admitted.count = std::min(static_cast<size_t>(free), inputs_.size() - begun_);
  model_.admit(static_cast<int64_t>(admitted.count));
  begun_ += admitted.count;
  return admitted;
}

void WaitingInputs::feed(FedTokens tokens, const Admitted& admitted) const {
  for (const SearchInput* input : inputs_.subspan(admitted.first, admitted.count)) {
    const std::span<const int32_t> prompt = input->prompt;
    tokens.add(prompt.subspan(static_cast<size_t>(window_start(std::ssize(prompt), model_.max_length()))));
  }
  model_.advance(tokens.tokens, tokens.offsets);
}

}  // namespace weft
