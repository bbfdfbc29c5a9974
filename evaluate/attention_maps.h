// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "job/loaded_model.h"

namespace weft {

// Whose tokens ask, and whose are asked.
enum class AttentionKind : uint8_t {
  Encoder,  // the source asks itself
  Decoder,  // the text asks itself; a query sees no later key
  Cross,    // the text asks the source
};
template <>
struct EnumNames<AttentionKind> {
  static constexpr auto kNames = enum_names<AttentionKind>("encoder", "decoder", "cross");
};

// The weights of one layer's attention: row i of a head says how much of query i's result comes from each key.
struct AttentionMap {
  AttentionKind kind = AttentionKind::Decoder;
  int layer = 0;  // as in the names of parameters: decoder.LAYER.attention, decoder.LAYER.cross
  int64_t heads = 0, queries = 0, keys = 0;
  std::vector<float> weights;   // [heads, queries, keys]; a query's weights sum to 1
  std::vector<float> mean;      // [queries, keys]: over the heads
  std::vector<double> entropy;  // [heads], nats: -sum_j w[i][j] ln w[i][j], the mean over the queries

  std::span<const float> head(int64_t head) const {
    return std::span(weights).subspan(head * queries * keys, queries * keys);
  }
};

// The tokens of a text, and what each of them stands for: parts of characters as they are, specials by name.
struct ShownTokens {
  std::vector<int32_t> ids;
  std::vector<std::string> texts;
};
ShownTokens shown_tokens(const Tokenizer& tokenizer, std::vector<int32_t> ids);

// A text under a language model, or a source and its translation, with all attention in between.
struct AttentionMaps {
  ShownTokens source;  // translation: with the specials of preparation
  ShownTokens text;    // what the decoder reads: a text; or the start token and a translation without its end token
  std::vector<AttentionMap> maps;  // the encoder's layers, the decoder's, and those between them
};

// Runs a model once over these tokens: `source` is empty for a language model. DataError if they do not fit the model's
// positions, or if their maps would have more than `most_weights`. Where the model's axis tp has one rank, which
// holds all heads.
AttentionMaps attention_maps(const LoadedModel& loaded, const std::vector<int32_t>& source,
                             const std::vector<int32_t>& text, int64_t most_weights);

}  // namespace weft
