// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/tokenizer/bpe/vocabulary.h"

namespace weft {

// A table from (left, right) to the id and the rank of their merge. Open addressing: usually one cache line a look-up.
class MergeTable {
 public:
  static constexpr uint32_t kNever = UINT32_MAX;
  struct Found {
    uint32_t rank = kNever;
    int32_t id = -1;
  };

  // `rank_is_id`: merges that give the same id have the same rank (BpeVocabulary::Rule::Ranks).
  MergeTable(const std::vector<BpeMerge>& merges, bool rank_is_id);

  Found find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = slot(key);; i = (i + 1) & mask_) {
      const Entry& entry = entries_[i];
      if (entry.key == key) return {entry.rank, entry.id};
      if (entry.key == kFree) return {};
    }
  }

 private:
  struct Entry {
    uint64_t key;
    uint32_t rank;
    int32_t id;
  };
  static constexpr uint64_t kFree = UINT64_MAX;  // the key of no pair, since ids are not negative

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }

  std::vector<Entry> entries_;
  size_t mask_ = 0;
  int shift_ = 0;
};

// The number of positions of these symbols; DataError if 32 bits cannot count them.
uint32_t positions_of(size_t symbols);

// Merges neighbours in one pretoken until no pair merges: always the pair of the earliest rank, and the leftmost one.
// Short pretokens are searched for each merge; long ones use a heap, O(n log n). Keeps its memory between pretokens.
class PretokenMerger {
 public:
  // Replaces `symbols` (ids of bytes) by the ids of their merges.
  void merge(const MergeTable& pairs, std::vector<int32_t>& symbols);

 private:
  struct Candidate {
    uint32_t rank;
    uint32_t position;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  void merge_short(const MergeTable& pairs, std::vector<int32_t>& symbols);
  void merge_long(const MergeTable& pairs, std::vector<int32_t>& symbols);
  void offer(const MergeTable& pairs, const std::vector<int32_t>& symbols, uint32_t position);

  std::vector<MergeTable::Found> found_;  // the merge of the pair that begins at each symbol
  std::vector<Candidate> heap_;
  std::vector<uint32_t> next_, previous_;
};

}  // namespace weft
