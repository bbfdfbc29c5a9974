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
  Stop,      // a DataError names the line
};
template <>
struct EnumNames<LongLines> {
  static constexpr auto kNames = enum_names<LongLines>("truncate", "empty", "stop");
};

// Consecutive lines of a text that is translated as it arrives.
struct LineBatch {
  int64_t first = 0;  // number of the first line in the text, from 0
  std::vector<std::string> lines;
  std::vector<std::string> prefixes = {};  // one per line, which its translation begins with; empty: no prefixes
};

// Called on rank 0: returns the next lines, or none at the end. An error that it throws is thrown on every rank.
using LineReader = std::function<LineBatch()>;
// Called on rank 0 with the n best translations of each line, in order. An error that it throws is thrown everywhere.
using LineWriter = std::function<void(const LineBatch& batch, const std::vector<NBest>& translations)>;

struct TranslatedLines {
  int64_t lines = 0;
  int64_t too_long = 0;  // lines that were cut, or not translated
};

// Translates a text of any length with the memory for one batch: rank 0 reads, all ranks share the work, and rank 0
// writes before it reads again. A line of white space is an empty source and has one translation, an empty one,
// whatever its prefix. Sampling for a line depends on its number, not on batches or ranks. A prefix is encoded as a
// separate text. DataError with the line's number if the line or prefix cannot be encoded, or if the prefix does not
// fit the model. Collective over the model's mesh; every rank returns the same.
TranslatedLines translate_lines(const TextGenerator& generator, const SearchConfig& search, LongLines long_lines,
                                const LineReader& read, const LineWriter& write);

}  // namespace weft
