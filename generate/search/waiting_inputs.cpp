// SPDX-License-Identifier: Apache-2.0
#include "generate/search/waiting_inputs.h"

#include <algorithm>

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

void WaitingInputs::feed(std::span<const int32_t> tokens, const Admitted& admitted) const {
  std::vector<int32_t> fed(tokens.begin(), tokens.end()), offsets(tokens.size() + 1);
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<int32_t>(i);
  for (const SearchInput* input : inputs_.subspan(admitted.first, admitted.count)) {
    fed.insert(fed.end(), input->prompt.begin(), input->prompt.end());
    offsets.push_back(static_cast<int32_t>(fed.size()));
  }
  model_.advance(fed, offsets);
}

}  // namespace weft
