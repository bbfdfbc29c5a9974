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

// How often each pretoken occurs in the documents given, in the order of first occurrence, counted by several threads.
// Counts and order depend on the documents and their order alone. If there are more different pretokens than `most`,
// the rarer half is forgotten: one that occurs again later is counted from zero (as Manku and Motwani, "Approximate
// frequency counts over data streams", VLDB 2002).
class PretokenCounter {
 public:
  // `most` = 0: any number.
  PretokenCounter(Pretokenizer pretokenizer, int threads, size_t most = 0);

  void add(std::string_view document);
  std::vector<CountedPretoken> finish();     // the counter is empty afterwards
  uint64_t bytes() const { return bytes_; }  // of all documents so far

 private:
  struct Count {
    int64_t count = 0;
    uint64_t first = 0;  // byte position in all documents, end to end
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
  std::vector<size_t> ends_;    // the end of each in waiting_
  uint64_t bytes_ = 0;
};

}  // namespace weft
