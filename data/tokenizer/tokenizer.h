// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"
#include "base/files.h"

namespace weft {

class TokenizerModel;

enum class SpecialRole { Bos, Eos, Pad, Unk };

// A token that the model does not make. It stands for no text, and its name is never found in plain text unless
// EncodeOptions::recognise_specials; or, if it is `in_text`, it stands for its name wherever that is in a text.
struct SpecialToken {
  std::string name;
  int32_t id = 0;
  bool in_text = false;
  bool strips_left = false;  // where its name is found, the white space before it is dropped
  bool operator==(const SpecialToken&) const = default;
};

struct SpecialTokens {
  std::vector<SpecialToken> tokens;  // ascending ids, names and ids unique
  // Indexed by SpecialRole; several roles may share one token.
  std::array<std::optional<int32_t>, enum_size<SpecialRole>()> roles;
  bool operator==(const SpecialTokens&) const = default;
};

struct EncodeOptions {
  bool recognise_specials = false;  // names of specials in the text become their ids (the longest name wins)
  bool continues = false;  // the text stands behind a special: a model that puts a blank before a text puts none
};

struct DecodeOptions {
  bool show_specials = false;  // shown by name; if false only unk is shown, since it stands for text
  bool continues = false;      // the text continues another one: the blank that a model puts before each text is kept
};

// Encodes text as ids and decodes ids. Immutable; every method may be called from many threads at once. Any bytes are
// text: invalid UTF-8 is kept by bpe and bytes (decode(encode(text)) == text for all bytes); each of its bytes is a
// symbol for chars and unigram, and part of a word for words (which keep no whitespace: decode joins with one space).
class Tokenizer {
 public:
  Tokenizer(std::unique_ptr<const TokenizerModel> model, SpecialTokens specials);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Without unk, a symbol unknown to chars or words is a DataError that names it and its byte offset.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;
  void encode_append(std::string_view text, std::vector<int32_t>& ids, EncodeOptions options = {}) const;
  // The first known place at or after `from` (> 0) at which text may be cut such that its parts, encoded one after
  // another, have the ids of the whole; text.size() if there is none.
  size_t safe_split(std::string_view text, size_t from) const;

  // An id outside [0, vocabulary()) or in a gap (an id of no token) is a DataError. Cutting ids anywhere gives
  // bytes that need not be valid UTF-8.
  std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const;

  int64_t vocabulary() const;  // highest id + 1
  std::string kind()
      const;              // bpe and unigram (files of gpt2, tiktoken, huggingface), bytes, chars, words, sentencepiece
  uint64_t hash() const;  // hash of everything that affects ids or text; equal after save and load

  std::optional<int32_t> special(std::string_view name) const;
  std::optional<int32_t> special(SpecialRole role) const;
  bool is_special(int32_t id) const;  // whether `id` stands for no text
  bool knows(int32_t id) const;       // whether `id` stands for a token, special or not
  const std::vector<SpecialToken>& specials() const;

  // Writes one JSON file (docs/formats.md "Tokenizer") atomically.
  void save(const fs::path& path) const;
  static std::shared_ptr<const Tokenizer> load(const fs::path& path);  // DataError with the path and the fault
  std::string to_json() const;
  static std::shared_ptr<const Tokenizer> from_json(std::string_view json, const std::string& where);

 private:
  const SpecialToken* special_of(int32_t id) const;

  std::unique_ptr<const TokenizerModel> model_;
  SpecialTokens specials_;
  bool any_in_text_ = false;
  int64_t vocabulary_ = 0;
  uint64_t hash_ = 0;
};

using TokenizerPtr = std::shared_ptr<const Tokenizer>;

}  // namespace weft
