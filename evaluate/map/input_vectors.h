// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "evaluate/attention_maps.h"
#include "generate/text_vectors.h"

namespace weft {

// What a model reads for each token of a text, before its first layer. In fp32; the model itself may round to bf16.
struct InputVectors {
  ShownTokens tokens;
  VectorRows token;     // [tokens, width]: rows of the token table, times sqrt(width) if model.scale_embedding says so
  VectorRows position;  // [tokens, width]; of a model without positions, nothing
  VectorRows sum;       // [tokens, width]: what the first layer reads
};

// For a translation model: of a source, with the specials of preparation. DataError if the text is empty or longer than
// the model's positions; ConfigError if the model projects its token table to another width.
InputVectors input_vectors(const LoadedModel& loaded, const std::string& text);

// The vectors that the model adds at positions 0, 1, ..., at most `most` of them: a learned table or sinusoids,
// [positions, width]. Of a translation model, those of its encoder. ConfigError if the model has none.
VectorRows position_vectors(const LoadedModel& loaded, int64_t most);

}  // namespace weft
