// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "data/tokenizer/pretokenizer.h"

namespace weft {

struct CountedPretoken {
  std::string text;
  int64_t count = 0;
};

// Counts how often each pretoken occurs in documents, with several threads; the result is in the order of first
// occurrence. Counts and order depend on the documents and their order alone. If there are more different pretokens
// than `most`, the `most` / 2 most frequent are kept: a forgotten one that occurs again is counted from zero (as Manku
// and Motwani, "Approximate frequency counts over data streams", VLDB 2002).
class PretokenCounter {
 public:
  // `most` = 0: no limit.
  PretokenCounter(Pretokenizer pretokenizer, int threads, size_t most = 0);

  void add(std::string_view document);
  std::vector<CountedPretoken> finish();     // the counter is empty afterwards
  uint64_t bytes() const { return bytes_; }  // bytes of all documents so far

 private:
  struct Count {
    int64_t count = 0;
    uint64_t first = 0;  // byte position of the first occurrence, in all documents end to end
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return static_cast<size_t>(hash64(text)); }
  };
  using Counts = std::unordered_map<std::string, Count, TextHash, std::equal_to<>>;
  struct DocumentPart {
    std::string_view text;
    uint64_t position;
  };

  void split(std::string_view document, uint64_t position, std::vector<DocumentPart>& parts) const;
  void count(const std::vector<DocumentPart>& parts);
  void flush();
  Counts& merged();
  void forget_rare();

  Pretokenizer pretokenizer_;
  size_t most_;
  std::vector<Counts> counts_;  // one per thread
  std::string waiting_;         // small documents, counted together
  std::vector<size_t> ends_;    // the end of each document in waiting_
  uint64_t bytes_ = 0;
};

}  // namespace weft
