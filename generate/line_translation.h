// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "generate/text_generator.h"

namespace weft {

// How to treat a line that has more tokens than the model has positions.
enum class LongLines {
  Truncate,  // the part that fits is translated, with a warning
  Empty,     // its translation is empty, with a warning
  Stop,      // a DataError names it
};
template <>
struct EnumNames<LongLines> {
  static constexpr auto kNames = enum_names<LongLines>("truncate", "empty", "stop");
};

// Consecutive lines of a text that is translated as it arrives.
struct LineBatch {
  int64_t first = 0;  // number of its first line, from 0
  std::vector<std::string> lines;
  std::vector<std::string> prefixes = {};  // each translation begins with its own; empty: no prefixes
};

// On rank 0: the next lines; none at the end. What it throws ends all ranks alike.
using LineReader = std::function<LineBatch()>;
// On rank 0: the n best translations of each line, in their order. What it throws ends all ranks alike.
using LineWriter = std::function<void(const LineBatch& batch, const std::vector<NBest>& translations)>;

struct TranslatedLines {
  int64_t lines = 0;
  int64_t too_long = 0;  // lines that were cut, or not translated
};

// Translates a text of any length in the memory of a batch: rank 0 reads, all ranks share the work, rank 0 writes
// before it reads again. A line of white space is an empty source and has one translation, an empty one, whatever its
// prefix. What is sampled for a line depends on its number, not on batches or ranks. A prefix is encoded as a text of
// its own. DataError with the line's number if the tokenizer cannot encode it, or if a prefix does not fit the model.
// Collective over the model's mesh; the same on every rank.
TranslatedLines translate_lines(const TextGenerator& generator, const SearchConfig& search, LongLines long_lines,
                                const LineReader& read, const LineWriter& write);

}  // namespace weft
