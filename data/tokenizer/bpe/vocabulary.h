// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "data/text/normal_form.h"

namespace weft {

inline constexpr int32_t kMaxTokenId =
    (1 << 24) - 1;  // for any tokenizer: bounds the memory that a hostile file can take
inline constexpr size_t kMaxTokenBytes = size_t{1} << 16;       // one token
inline constexpr size_t kMaxVocabularyBytes = size_t{1} << 30;  // all tokens together

// The bytes of each id, end to end. An id without bytes is a gap.
class TokenBytes {
 public:
  void set(int32_t id, std::string_view bytes);
  std::string_view operator[](int32_t id) const {
    const auto& [begin, size] = ranges_[static_cast<size_t>(id)];
    return {text_.data() + begin, size};
  }
  bool knows(int32_t id) const { return id >= 0 && id < size() && ranges_[static_cast<size_t>(id)].second > 0; }
  int64_t size() const { return static_cast<int64_t>(ranges_.size()); }  // highest id + 1
  size_t total() const { return text_.size(); }

 private:
  std::string text_;
  std::vector<std::pair<size_t, size_t>> ranges_;
};

struct BpeMerge {
  int32_t left = 0;
  int32_t right = 0;
  int32_t id = 0;
  bool operator==(const BpeMerge&) const = default;
};

// When a tokenizer puts a blank before a text that is not empty: never, always, if the text begins with none, or if
// also no other token stands before it.
enum class BlankPrefix { Never, Always, IfMissing, IfMissingAtBegin };
template <>
struct EnumNames<BlankPrefix> {
  static constexpr auto kNames = enum_names<BlankPrefix>("never", "always", "if-missing", "if-missing-at-begin");
};

// What merges begin with in place of bytes: characters, as in SentencePiece's BPE (Kudo and Richardson, EMNLP 2018).
// One without a token becomes the tokens of its bytes. U+2581 is a blank, in files and in texts.
struct CharacterSymbols {
  std::vector<std::pair<uint32_t, int32_t>> ids;  // by code point, ascending
  BlankPrefix prefix = BlankPrefix::Never;
};

// The definition of a BPE of bytes or characters. Two rules decide which neighbours merge first. Merges: the pair that
// stands first in `merges` (Sennrich et al. 2016; GPT-2's files, and what weft learns). Ranks: the pair whose joined
// bytes are the token of the lowest id, however that token came to be (tiktoken's files).
struct BpeVocabulary {
  enum class Rule { Merges, Ranks };

  Rule rule = Rule::Merges;
  std::optional<NormalForm> normal_form;       // of a text before it is cut
  std::vector<std::string> first_patterns;     // each cuts the pieces of the one before it
  std::string pattern;                         // cuts the pieces of the last of these, or the text
  std::array<int32_t, 256> byte_ids{};         // all different
  std::optional<CharacterSymbols> characters;  // Merges: nullopt: bytes are merged
  // Merges: each joins bytes, characters or tokens of other merges. Several may make one token.
  std::vector<BpeMerge> merges;
  bool keeps_whole = false;                             // Merges: a pretoken that is a token becomes it without merging
  std::vector<std::pair<std::string, int32_t>> tokens;  // Ranks: ascending ids, single bytes included

  // The bytes of each id, after checking everything above; DataError beginning with `where`.
  TokenBytes checked_bytes(const std::string& where) const;
  // Ranks: every pair of tokens that joins to a token, by ascending id. Merges: `merges` itself.
  std::vector<BpeMerge> pairs_by_rank() const;
};

// Fills byte_ids from the single-byte tokens of `tokens` (Ranks). DataError if one is missing.
void find_byte_ids(BpeVocabulary& vocabulary, const std::string& where);

}  // namespace weft
