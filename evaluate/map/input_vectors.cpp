// SPDX-License-Identifier: Apache-2.0
#include "evaluate/map/input_vectors.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/ops/embed.h"

namespace weft {
namespace {

VectorRows scaled(VectorRows vectors, double scale) {
  for (float& value : vectors.values) value = static_cast<float>(scale * value);
  return vectors;
}

}  // namespace

VectorRows position_vectors(const LoadedModel& loaded, int64_t most) {
  const TransformerConfig& model = loaded.model->config();
  const int64_t rows = std::min(model.max_length, most);
  switch (model.positions) {
    case Positions::Learned:
      return rows_on_host(loaded.model->context(), embedding_table(loaded, "positions").slice(0, rows));
    case Positions::Sinusoidal:
      return {.width = model.width, .values = sinusoids(rows, model.width, model.sinusoid_form, model.sinusoid_base)};
    case Positions::Rotary:
    case Positions::None:
      break;
  }
  throw ConfigError(fmt::format("{} has no vectors of positions (model.positions: {})", loaded.path.string(),
                                enum_name(model.positions)));
}

InputVectors input_vectors(const LoadedModel& loaded, const std::string& text) {
  const TransformerConfig& model = loaded.model->config();
  require<ConfigError>(model.derived_embedding_width() == model.width,
                       "{} projects its token vectors from {} to {} elements (model.embedding_width): they are not "
                       "what is added to those of positions",
                       loaded.path.string(), model.derived_embedding_width(), model.width);
  const std::vector<int32_t> tokens = vector_tokens(loaded, text, 0);
  const double scale = model.scale_embedding ? std::sqrt(static_cast<double>(model.width)) : 1.0;
  InputVectors found{.tokens = shown_tokens(*loaded.source_tokenizer, tokens),
                     .token = scaled(token_rows(loaded, tokens), scale)};
  found.sum = found.token;
  if (!model.adds_positions()) return found;
  found.position = position_vectors(loaded, std::ssize(tokens));
  for (size_t i = 0; i < found.sum.values.size(); ++i) found.sum.values[i] += found.position.values[i];
  return found;
}

}  // namespace weft
