// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "evaluate/map/input_vectors.h"
#include "evaluate/map/vector_map.h"

// The pages of weft embed: docs/pictures.md says what is in them.
namespace weft {

// What a page shows of more: of similarities, a matrix of so many vectors, evenly chosen; of inputs, so many elements,
// evenly chosen.
inline constexpr int64_t kMostInMatrix = 200, kMostElements = 1024;
// Tokens of a page of inputs, each about 25 KB of it at most.
inline constexpr int64_t kMostInputTokens = 128;

// What the vectors of a map are of.
enum class MapOf : uint8_t { Texts, Positions };

// `model`: the checkpoint's path.
std::string map_page(const std::string& model, MapOf of, const VectorMap& map);
// DataError if there are more than kMostInputTokens.
std::string inputs_page(const std::string& model, const std::string& text, const InputVectors& inputs);

}  // namespace weft
