// SPDX-License-Identifier: Apache-2.0
#include "parallel/gather_texts.h"

namespace weft {

std::vector<std::string> gather_texts(Communicator& axis, const std::string& mine) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < axis.size(); ++rank) texts.push_back(axis.broadcast_text(mine, rank));
  return texts;
}

}  // namespace weft
