// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "generate/text_generator.h"

namespace weft {

// A model's scores of a translation that it is given.
struct RescoredPair {
  std::vector<int32_t> tokens;                  // without the end token
  std::vector<double> token_log_probabilities;  // natural; the end token's is last
  double log_probability = 0;                   // their sum: log P(translation | source)
  double score = 0;                             // length_normalized(), by which the search ranks
};
void to_json(nlohmann::json& json, const RescoredPair& pair);

// Scores pairs of lines; all lengths are read from `config`: penalties of the length, limits of batches. What the
// search found scores as it did there, to the bit, if its text is encoded to the tokens that it was made of. A source
// of nothing but white space has one translation, the empty one: that has log-probability 0, any other minus infinity.
// `first`: number of the first pair, for messages. DataError that names the pair if one of its texts does not fit the
// model or cannot be encoded. Collective over the model's mesh; the ranks share the work.
std::vector<RescoredPair> rescore(const TextGenerator& generator, const std::vector<std::string>& sources,
                                  const std::vector<std::string>& translations, const SearchConfig& config,
                                  int64_t first = 0);

}  // namespace weft
