// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/same_ids.h"

namespace weft {

bool have_same_ids(const Tokenizer& one, const Tokenizer& other) {
  if (one.hash() == other.hash()) return true;
  if (one.vocabulary() != other.vocabulary() || one.specials() != other.specials()) return false;
  const auto text = [](const Tokenizer& tokenizer, int32_t id) {
    return tokenizer.decode(std::span(&id, 1), {.show_specials = true, .continues = true});
  };
  for (int32_t id = 0; id < one.vocabulary(); ++id) {
    if (one.knows(id) != other.knows(id)) return false;
    if (one.knows(id) && text(one, id) != text(other, id)) return false;
  }
  return true;
}

}  // namespace weft
