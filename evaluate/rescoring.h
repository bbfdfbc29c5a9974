// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "generate/text_generator.h"

namespace weft {

// The scores that a model gives to a given translation.
struct RescoredPair {
  std::vector<int32_t> tokens;                  // without the end token
  std::vector<double> token_log_probabilities;  // natural; the end token's is last
  double log_probability = 0;                   // the sum of these: log P(translation | source)
  double score = 0;                             // length_normalized(), by which the search ranks
};
void to_json(nlohmann::json& json, const RescoredPair& pair);

// Scores pairs of lines, with the length penalty and batch limits of `config`. A translation that a search has found
// gets the same score as in that search, to the bit, if its text is encoded to the tokens that it was decoded from. A
// source of nothing but white space has one translation, the empty one, with log-probability 0; any other has minus
// infinity. `first`: number of the first pair, for messages. DataError that names the pair if one of its texts does not
// fit the model or cannot be encoded. Collective over the model's mesh; the ranks share the work.
std::vector<RescoredPair> rescore(const TextGenerator& generator, const std::vector<std::string>& sources,
                                  const std::vector<std::string>& translations, const SearchConfig& config,
                                  int64_t first = 0);

}  // namespace weft
