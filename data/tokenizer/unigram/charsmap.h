// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// SentencePiece's table of normalisation (`precompiled_charsmap`): the size of a trie, the trie as an array of units
// (Yata's double array, of darts-clone), and the texts that its values point at, each of which ends in a NUL.
// Immutable.
class CharsMap {
 public:
  // Checks every step that a look-up can take, so that none leaves the table. DataError beginning with `where`.
  CharsMap(std::string_view blob, const std::string& where);

  // What stands in the table for the shortest beginning of `text` that it has; nullopt if it has none.
  std::optional<std::string_view> find(std::string_view text) const;
  size_t longest() const;  // bytes of the longest text that find() may give
  const std::string& blob() const { return blob_; }

 private:
  void check_steps(const std::string& where) const;
  std::string_view texts() const { return std::string_view(blob_).substr(texts_begin_); }

  std::string blob_;
  std::vector<uint32_t> units_;
  size_t texts_begin_ = 0;
};

}  // namespace weft
