// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/unigram/charsmap.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/utf8.h"

namespace weft {
namespace {

constexpr size_t kHeadBytes = 4, kUnitBytes = 4;

uint32_t unit_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = kUnitBytes; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

uint32_t label_of(uint32_t unit) { return unit & 0x800000FFu; }
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 0x200u) >> 6); }
uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFFu; }

void check_table(bool holds, const std::string& where) {
  require<DataError>(holds, "{}: the table of normalisation is damaged", where);
}

}  // namespace

CharsMap::CharsMap(std::string_view blob, const std::string& where) : blob_(blob) {
  check_table(blob.size() > kHeadBytes, where);
  const size_t trie = unit_at(blob, 0);
  check_table(trie < blob.size() - kHeadBytes && trie % kUnitBytes == 0 && trie > 0, where);
  for (size_t at = 0; at < trie; at += kUnitBytes) units_.push_back(unit_at(blob, kHeadBytes + at));
  texts_begin_ = kHeadBytes + trie;
  check_table(texts().back() == '\0' && is_utf8(texts()), where);
  check_steps(where);
}

void CharsMap::check_steps(const std::string& where) const {
  const auto begins_text = [&](uint32_t place) {
    return place < texts().size() && (static_cast<uint8_t>(texts()[place]) & 0xC0) != 0x80;
  };
  std::vector<bool> seen(units_.size());
  std::vector<uint32_t> waiting = {0};
  while (!waiting.empty()) {
    const uint32_t at = waiting.back();
    waiting.pop_back();
    const uint32_t base = at ^ offset_of(units_[at]);
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t next = base ^ byte;
      check_table(next < units_.size(), where);
      if (seen[next] || label_of(units_[next]) != byte) continue;
      seen[next] = true;
      waiting.push_back(next);
      if (!has_leaf(units_[next])) continue;
      const uint32_t leaf = next ^ offset_of(units_[next]);
      check_table(leaf < units_.size() && begins_text(value_of(units_[leaf])), where);
    }
  }
}

size_t CharsMap::longest() const {
  size_t longest = 0;
  for (std::string_view rest = texts(); !rest.empty();) {
    const size_t bytes = rest.find('\0');
    longest = std::max(longest, bytes);
    rest.remove_prefix(bytes + 1);
  }
  return longest;
}

std::optional<std::string_view> CharsMap::find(std::string_view text) const {
  uint32_t base = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) return std::nullopt;  // no text of the table has one: its unit would be a leaf
    const uint32_t at = base ^ byte;
    if (label_of(units_[at]) != byte) return std::nullopt;
    base = at ^ offset_of(units_[at]);
    if (!has_leaf(units_[at])) continue;
    const std::string_view found = texts().substr(value_of(units_[base]));
    return found.substr(0, found.find('\0'));
  }
  return std::nullopt;
}

}  // namespace weft
