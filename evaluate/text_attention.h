// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "evaluate/attention_maps.h"

namespace weft {

// The attention of a text, with what was asked.
struct TextAttention {
  std::string model;         // the checkpoint's path
  std::string source, text;  // source: of a translation, which is `text`
  AttentionMaps maps;
};

// Of a language model's text; or of a translation: the given one, or the model's own (beam search of 5). DataError if a
// text does not fit the model.
TextAttention text_attention(const LoadedModel& loaded, const std::string& text,
                             const std::optional<std::string>& translation);

}  // namespace weft
