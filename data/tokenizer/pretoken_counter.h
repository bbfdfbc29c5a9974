#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "data/tokenizer/pretokenizer.h"

namespace weft {

struct CountedChunk {
  std::string text;
  int64_t count = 0;
};

// How often each chunk occurs in the documents given, in the order of first occurrence, counted by several threads.
// Counts and order depend on the documents and their order alone.
class ChunkCounter {
 public:
  ChunkCounter(Pretokenizer pretokenizer, int threads);

  void add(std::string_view document);
  std::vector<CountedChunk> finish();        // leaves the counter empty
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
  struct Piece {
    std::string_view text;
    uint64_t position;
  };

  void cut(std::string_view document, uint64_t position, std::vector<Piece>& pieces) const;
  void count(const std::vector<Piece>& pieces);
  void flush();

  Pretokenizer pretokenizer_;
  std::vector<Counts> counts_;  // one a thread
  std::string waiting_;         // small documents, counted together
  std::vector<size_t> ends_;    // of each in waiting_
  uint64_t bytes_ = 0;
};

}  // namespace weft
