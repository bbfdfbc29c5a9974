// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace weft {

// Encodes and decodes plain text for a Tokenizer, one class per kind. The Tokenizer handles specials: a model has only
// the id of unk, which unknown text becomes. Immutable; const methods are called from many threads.
class TokenizerModel {
 public:
  virtual ~TokenizerModel() = default;

  virtual std::string_view kind() const = 0;
  // `offset` is where `text` begins in the caller's text: for messages, and 0 if nothing stands before it.
  virtual void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const = 0;
  virtual int64_t vocabulary() const = 0;  // the model's highest id + 1
  virtual bool knows(int32_t id) const = 0;
  virtual std::string_view bytes(int32_t id) const = 0;      // requires a valid `id`
  virtual std::string written(int32_t id) const = 0;         // the token in other programs' vocabularies; the same
  virtual std::string_view separator() const { return {}; }  // decode puts it between tokens
  // The first known place at or after `from` at which text may be cut without changing its ids, or text.size().
  virtual size_t safe_split(std::string_view text, size_t) const { return text.size(); }
  // The number of bytes at the beginning of a decoded text that the model added when it encoded.
  virtual size_t own_beginning(std::string_view) const { return 0; }
  virtual void hash_into(Hasher& hasher) const = 0;
  virtual void write_json(nlohmann::json& json) const = 0;
};

}  // namespace weft
