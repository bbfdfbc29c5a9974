// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "job/loaded_model.h"

namespace weft {

// The vectors of tokens that are averaged into a text's vector.
enum class VectorSource {
  States,  // the model's last hidden states: a language model's, or those of a translation model's encoder
  Tokens,  // rows of the token table as training left them: not scaled, without positions
};

struct TextVectors {
  int64_t width = 0;
  std::vector<float> values;  // [texts, width]
  int64_t texts() const { return static_cast<int64_t>(values.size()) / width; }
  std::span<const float> row(int64_t text) const { return std::span(values).subspan(text * width, width); }
};

// The mean vector over a text's tokens (for a translation model: its source, with the specials that preparation adds).
// A vector depends on its text alone. DataError if a text is empty or longer than the model's positions.
TextVectors text_vectors(const LoadedModel& loaded, const std::vector<std::string>& texts, VectorSource source);

// cos(a, b) = a b / (|a| |b|) of all pairs, [texts, texts]; 0 if one of the vectors is zero.
std::vector<double> cosine_similarities(const TextVectors& vectors);

// HDF5: /vectors f32 [texts, width] and /similarities f64 [texts, texts]. Written atomically.
void write_vectors(const fs::path& path, const TextVectors& vectors, std::span<const double> similarities);

}  // namespace weft
