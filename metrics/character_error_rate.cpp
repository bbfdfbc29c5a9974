// SPDX-License-Identifier: Apache-2.0
#include "metrics/character_error_rate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/text/unicode_properties.h"
#include "metrics/text_passes.h"

namespace weft {
namespace {

// Row by row (Wagner and Fischer 1974). The common prefix and suffix cost nothing and are left out.
size_t levenshtein(std::u32string_view a, std::u32string_view b) {
  const size_t prefix = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  a.remove_prefix(prefix), b.remove_prefix(prefix);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

SignatureFields CharacterErrorRate::settings() const {
  return {{"case", config_.lowercase ? "lc" : "mixed"}, {"space", config_.whitespace ? "yes" : "no"}};
}

std::u32string CharacterErrorRate::characters_of(std::string_view line) const {
  const std::u32string decoded = decode_utf8(line);
  std::u32string text(strip(decoded));
  if (config_.lowercase) text = to_lower(text);
  if (!config_.whitespace) std::erase_if(text, [](char32_t c) { return (character_properties(c) & kSpace) != 0; });
  return text;
}

std::vector<double> CharacterErrorRate::line_statistics(std::string_view hypothesis,
                                                        std::span<const std::string_view> references) const {
  const std::u32string characters = characters_of(hypothesis);
  std::vector<double> best;
  for (const std::string_view line : references) {
    const std::u32string reference = characters_of(line);
    std::vector<double> row = {static_cast<double>(levenshtein(characters, reference)),
                               static_cast<double>(reference.size())};
    if (best.empty() || score(row) < score(best)) best = std::move(row);
  }
  return best;
}

double CharacterErrorRate::score(std::span<const double> sums) const {
  const double edits = sums[0], length = sums[1];
  if (length > 0) return 100 * edits / length;
  return edits > 0 ? 100 : 0;
}

std::string CharacterErrorRate::details(std::span<const double> sums) const {
  return fmt::format("(edits = {:.0f} ref_len = {:.0f})", sums[0], sums[1]);
}

nlohmann::ordered_json CharacterErrorRate::figures(std::span<const double> sums) const {
  return {{"edits", static_cast<int64_t>(sums[0])}, {"reference_length", static_cast<int64_t>(sums[1])}};
}

}  // namespace weft
