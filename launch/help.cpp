// SPDX-License-Identifier: Apache-2.0
#include "launch/help.h"

#include <fmt/format.h>

namespace weft {

std::string fields_text(const std::vector<ConfigDoc>& docs) {
  std::string text;
  for (const ConfigDoc& doc : docs) {
    if (doc.section) {
      text += fmt::format("\n{}: {}\n", doc.key, doc.meaning);
    } else {
      text += fmt::format("  {} = {}  ({})\n      {}\n", doc.key, doc.value, doc.allowed, doc.meaning);
    }
  }
  return text;
}

}  // namespace weft
