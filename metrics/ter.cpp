// SPDX-License-Identifier: Apache-2.0
#include "metrics/ter.h"

#include <algorithm>
#include <limits>

#include "base/text/utf8.h"
#include "metrics/edit_distance.h"
#include "metrics/ngrams.h"
#include "metrics/ter_tokenizer.h"

namespace weft {

SignatureFields Ter::settings() const {
  const auto yes = [](bool is) { return std::string(is ? "yes" : "no"); };
  return {{"case", config_.case_sensitive ? "mixed" : "lc"},
          {"tok", "tercom"},
          {"norm", yes(config_.normalized)},
          {"punct", yes(!config_.no_punct)},
          {"asian", yes(config_.asian_support)}};
}

std::vector<double> Ter::line_statistics(std::string_view hypothesis,
                                         std::span<const std::string_view> references) const {
  WordIds ids;
  const auto words_of = [&](std::string_view line) { return ids(tokenize_for_ter(config_, decode_utf8(line))); };
  const std::vector<uint32_t> words = words_of(hypothesis);
  int64_t edits = std::numeric_limits<int64_t>::max(), length = 0;
  for (const std::string_view line : references) {
    const std::vector<uint32_t> reference = words_of(line);
    edits = std::min(edits, edits_with_shifts(words, reference));
    length += static_cast<int64_t>(reference.size());
  }
  return {static_cast<double>(edits), static_cast<double>(length) / static_cast<double>(references.size())};
}

double Ter::score(std::span<const double> sums) const {
  const double edits = sums[0], length = sums[1];
  if (length > 0) return 100 * edits / length;
  return edits > 0 ? 100 : 0;
}

}  // namespace weft
