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

// Vectors of equal width: of texts, of tokens, of positions.
struct VectorRows {
  int64_t width = 0;
  std::vector<float> values;  // [count(), width]
  int64_t count() const { return width > 0 ? static_cast<int64_t>(values.size()) / width : 0; }
  std::span<const float> row(int64_t i) const { return std::span(values).subspan(i * width, width); }
};

// The tokens of a text that its vector is made of. DataError, which calls it text `index` + 1, if it is empty or longer
// than the model's positions.
std::vector<int32_t> vector_tokens(const LoadedModel& loaded, const std::string& text, size_t index);

// The table of "tokens" or of "positions" that reads texts: a translation model's encoder's, [rows, width].
// InternalError if the model has none.
Tensor embedding_table(const LoadedModel& loaded, const std::string& of);

// Rows of any dtype and device, in fp32.
VectorRows rows_on_host(Context& context, const Tensor& rows);

// The rows of the token table for these tokens, as training left them: not scaled, without positions.
VectorRows token_rows(const LoadedModel& loaded, const std::vector<int32_t>& tokens);

// The mean vector over a text's tokens (for a translation model: its source, with the specials that preparation adds).
// A vector depends on its text alone. DataError if a text is empty or longer than the model's positions.
VectorRows text_vectors(const LoadedModel& loaded, const std::vector<std::string>& texts, VectorSource source);

// cos(a, b) = a b / (|a| |b|) of all pairs, [count, count]; 0 if one of the vectors is zero.
std::vector<double> cosine_similarities(const VectorRows& vectors);

// HDF5: /vectors f32 [count, width] and /similarities f64 [count, count]. Written atomically.
void write_vectors(const fs::path& path, const VectorRows& vectors, std::span<const double> similarities);

}  // namespace weft
