// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/bpe/vocabulary.h"

#include <unordered_map>

#include "base/error.h"
#include "base/text/utf8.h"

namespace weft {

namespace {

constexpr size_t kMaxRankedBytes = 1024;
constexpr size_t kMaxPatterns = 16;  // published files have up to five

// Checks each id as it is assigned.
class CheckedTokens {
 public:
  explicit CheckedTokens(const std::string& where) : where_(where) {}

  void add(int32_t id, std::string_view bytes, const std::string& what) {
    require<DataError>(id >= 0 && id <= kMaxTokenId, "{}: {}: id {} is outside [0, {}]", where_, what, id, kMaxTokenId);
    require<DataError>(!bytes.empty(), "{}: {}: the token is empty", where_, what);
    require<DataError>(bytes.size() <= kMaxTokenBytes, "{}: {}: a token of {} bytes (at most {})", where_, what,
                       bytes.size(), kMaxTokenBytes);
    require<DataError>(!tokens_.knows(id), "{}: {}: id {} is taken", where_, what, id);
    require<DataError>(tokens_.total() + bytes.size() <= kMaxVocabularyBytes, "{}: {}: all tokens exceed {} bytes",
                       where_, what, kMaxVocabularyBytes);
    tokens_.set(id, bytes);
  }
  const TokenBytes& tokens() const { return tokens_; }
  TokenBytes take() { return std::move(tokens_); }

 private:
  const std::string& where_;
  TokenBytes tokens_;
};

std::string name_of(const std::vector<BpeMerge>& merges, size_t i) {
  return fmt::format("merge {} ({} {} -> {})", i, merges[i].left, merges[i].right, merges[i].id);
}

void check_pairs(const std::vector<BpeMerge>& merges, const std::string& where) {
  std::unordered_map<uint64_t, size_t> pairs;
  pairs.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const uint64_t pair = static_cast<uint64_t>(merges[i].left) << 32 | static_cast<uint32_t>(merges[i].right);
    const auto [other, is_new] = pairs.emplace(pair, i);
    require<DataError>(is_new, "{}: {}: merge {} is of the same pair", where, name_of(merges, i), other->second);
  }
}

void add_characters(const CharacterSymbols& characters, const std::string& where, CheckedTokens& checked) {
  std::optional<uint32_t> before;
  for (const auto& [code_point, id] : characters.ids) {
    const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
    require<DataError>(!is_surrogate && code_point <= 0x10FFFF && (!before || code_point > *before),
                       "{}: characters: U+{:04X} is no character or not in its place", where, code_point);
    before = code_point;
    const std::u32string one(1, static_cast<char32_t>(code_point));
    checked.add(id, encode_utf8(one), fmt::format("character U+{:04X}", code_point));
  }
}

// The tokens that merges make of the bytes or characters. Files that were converted from ranks sort merges by their
// result, so that a later merge may make the parts of an earlier one: a merge waits until its parts exist.
class MergedTokens {
 public:
  MergedTokens(const std::vector<BpeMerge>& merges, const std::string& where, CheckedTokens& checked)
      : merges_(merges), where_(where), checked_(checked) {}

  void add_all() {
    for (size_t i = 0; i < merges_.size(); ++i) {
      ready_.push_back(i);
      while (!ready_.empty()) {
        const size_t next = ready_.back();
        ready_.pop_back();
        add(next);
      }
    }
    for (size_t i = 0; i < merges_.size(); ++i) {
      for (const int32_t part : {merges_[i].left, merges_[i].right}) {
        require<DataError>(checked_.tokens().knows(part),
                           "{}: {}: {} is neither a byte nor a character nor made by another merge", where_,
                           name_of(merges_, i), part);
      }
    }
  }

 private:
  void add(size_t i) {
    const auto& [left, right, id] = merges_[i];
    for (const int32_t part : {left, right}) {
      if (checked_.tokens().knows(part)) continue;
      waiting_[part].push_back(i);
      return;
    }
    joined_.assign(checked_.tokens()[left]);
    joined_.append(checked_.tokens()[right]);
    if (checked_.tokens().knows(id) && checked_.tokens()[id] == joined_) return;
    checked_.add(id, joined_, name_of(merges_, i));
    const auto waited = waiting_.find(id);
    if (waited == waiting_.end()) return;
    ready_.insert(ready_.end(), waited->second.begin(), waited->second.end());
    waiting_.erase(waited);
  }

  const std::vector<BpeMerge>& merges_;
  const std::string& where_;
  CheckedTokens& checked_;
  std::unordered_map<int32_t, std::vector<size_t>> waiting_;  // merges by the id of the missing part
  std::vector<size_t> ready_;
  std::string joined_;
};

}  // namespace

void TokenBytes::set(int32_t id, std::string_view bytes) {
  const auto index = static_cast<size_t>(id);
  if (index >= ranges_.size()) ranges_.resize(index + 1);
  ranges_[index] = {text_.size(), bytes.size()};
  text_.append(bytes);
}

TokenBytes BpeVocabulary::checked_bytes(const std::string& where) const {
  require<DataError>(first_patterns.size() < kMaxPatterns, "{}: {} patterns before the last one (at most {})", where,
                     first_patterns.size(), kMaxPatterns - 1);
  CheckedTokens checked(where);
  if (rule == Rule::Ranks) {
    int32_t before = -1;
    std::unordered_map<std::string_view, int32_t> seen;
    for (const auto& [bytes, id] : tokens) {
      const std::string what = fmt::format("token {}", id);
      // Every split of every token is looked up: the limit on a token's length bounds the time that a file can take.
      require<DataError>(bytes.size() <= kMaxRankedBytes, "{}: {}: {} bytes (at most {})", where, what, bytes.size(),
                         kMaxRankedBytes);
      require<DataError>(id > before, "{}: {}: ids must ascend, but {} comes before it", where, what, before);
      checked.add(id, bytes, what);
      const auto [other, is_new] = seen.emplace(bytes, id);
      require<DataError>(is_new, "{}: {}: the same bytes as token {}", where, what, other->second);
      before = id;
    }
    return checked.take();
  }
  for (int b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    checked.add(byte_ids[static_cast<size_t>(b)], {&byte, 1}, fmt::format("byte {}", b));
  }
  if (characters) add_characters(*characters, where, checked);
  check_pairs(merges, where);
  MergedTokens(merges, where, checked).add_all();
  return checked.take();
}

std::vector<BpeMerge> BpeVocabulary::pairs_by_rank() const {
  if (rule == Rule::Merges) return merges;
  std::unordered_map<std::string_view, int32_t> ids;
  ids.reserve(tokens.size());
  for (const auto& [bytes, id] : tokens) ids.emplace(bytes, id);
  std::vector<BpeMerge> pairs;
  for (const auto& [bytes, id] : tokens) {
    const std::string_view whole = bytes;
    for (size_t at = 1; at < whole.size(); ++at) {
      const auto left = ids.find(whole.substr(0, at));
      if (left == ids.end()) continue;
      const auto right = ids.find(whole.substr(at));
      if (right != ids.end()) pairs.push_back({left->second, right->second, id});
    }
  }
  return pairs;
}

void find_byte_ids(BpeVocabulary& vocabulary, const std::string& where) {
  vocabulary.byte_ids.fill(-1);
  for (const auto& [bytes, id] : vocabulary.tokens) {
    if (bytes.size() == 1) vocabulary.byte_ids[static_cast<unsigned char>(bytes[0])] = id;
  }
  for (size_t b = 0; b < 256; ++b) {
    require<DataError>(vocabulary.byte_ids[b] >= 0, "{}: no token is the single byte {}", where, b);
  }
}

}  // namespace weft
