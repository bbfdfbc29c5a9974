// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/pretoken_counter.h"

namespace weft {

struct BpeLearnArgs {
  std::span<const CountedPretoken> pretokens;  // different texts, in the order of first occurrence
  int64_t max_merges = 0;
  int64_t min_frequency = 1;  // learning ends before it merges a pair with fewer occurrences
  int32_t first_id = 256;     // id of the first merge; bytes have the ids 0 to 255
};

// Byte-level BPE (Sennrich et al., "Neural machine translation of rare words with subword units", ACL 2016): merges the
// most frequent pair of neighbours, again and again. Pairs never cross a pretoken's ends. A pair's frequency is the
// number of places at which it occurs ("aaa" holds (a, a) twice). Ties go to the pair seen first: the one whose first
// place in the text, as it is merged so far, comes first.
//
// Frequencies and places are kept up to date, not recounted: a merge touches only the places of its pair, so learning
// costs O(bytes of all different pretokens x depth of their tokens), not O(merges x text).
std::vector<BpeMerge> learn_merges(const BpeLearnArgs& args);

}  // namespace weft
