// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "data/dataset/distribution.h"

namespace weft {

// The size of texts, which are what their tokens decode to.
struct TextSizes {
  Distribution words;  // runs of characters between white space
  Distribution bytes;
};

// After `tokens` tokens of a split, `distinct` different ones had occurred.
struct DistinctTokens {
  int64_t tokens = 0, distinct = 0;
  bool operator==(const DistinctTokens&) const = default;
};

struct FrequentToken {
  int32_t id = 0;
  int64_t count = 0;
  std::string text;  // any bytes: a token may be a part of a character
};

// Tokens in the order of their counts: the one of this rank (1: the most frequent) occurs `count` times, and it and
// those before it `covered` times.
struct TokenRank {
  int64_t rank = 0, count = 0, covered = 0;
  bool operator==(const TokenRank&) const = default;
};

// One side of a split: its texts without the special tokens that begin and end them. The token of unknown text counts.
struct SideStatistics {
  int64_t vocabulary = 0;
  int64_t distinct = 0;                 // tokens of the vocabulary that occur
  Distribution tokens;                  // tokens of each text
  std::optional<TextSizes> sizes;       // none if a token is the one of unknown text: what it stood for is lost
  std::vector<DistinctTokens> growth;   // after 1, 2 and 5 times each power of ten, and at the end
  std::vector<FrequentToken> frequent;  // the most frequent first; of equal ones the lower id
  std::vector<TokenRank> ranks;         // 1 to 16, then each about an eighth beyond the last one, and the last
};

// What pairs, or prompts and answers, have of their two sides together.
struct PairStatistics {
  int64_t shared = 0;          // tokens of equal text that occur on both sides
  Distribution ratio_percent;  // tokens of the target for 100 of the source, rounded, of each pair with a source
};

struct SplitStatistics {
  DataSplit split = DataSplit::Train;
  DatasetKind kind = DatasetKind::Stream;
  SideStatistics source;  // Stream: the documents
  std::optional<SideStatistics> target;
  std::optional<PairStatistics> both;
};

// Reads each split once, in memory that grows with the vocabulary and with the number of different lengths and not with
// the text. `frequent`: the number of tokens to list for each side.
std::vector<SplitStatistics> dataset_statistics(const fs::path& directory, int64_t frequent);

}  // namespace weft
