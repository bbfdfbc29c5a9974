// SPDX-License-Identifier: Apache-2.0
#include "evaluate/attention_files.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json tokens_json(const ShownTokens& tokens) {
  Json list = Json::array();
  for (size_t i = 0; i < tokens.ids.size(); ++i) list.push_back({{"id", tokens.ids[i]}, {"text", tokens.texts[i]}});
  return list;
}

// A weight with the digits that an fp32 softmax has.
double rounded(double weight) { return std::round(weight * 1e7) / 1e7; }

Json matrix_json(std::span<const float> weights, int64_t rows) {
  Json matrix = Json::array();
  const size_t columns = weights.size() / static_cast<size_t>(rows);
  for (int64_t r = 0; r < rows; ++r) {
    Json row = Json::array();
    for (const float w : weights.subspan(r * columns, columns)) row.push_back(rounded(w));
    matrix.push_back(std::move(row));
  }
  return matrix;
}

Json map_json(const AttentionMap& map) {
  Json json = {{"kind", enum_name(map.kind)}, {"layer", map.layer}, {"entropy", map.entropy}};
  json["mean"] = matrix_json(map.mean, map.queries);
  for (int64_t h = 0; h < map.heads; ++h) json["heads"].push_back(matrix_json(map.head(h), map.queries));
  return json;
}

}  // namespace

nlohmann::ordered_json attention_json(const TextAttention& attention) {
  Json json = {{"model", attention.model}};
  if (!attention.maps.source.ids.empty()) {
    json["source"] = {{"text", attention.source}, {"tokens", tokens_json(attention.maps.source)}};
  }
  json["text"] = {{"text", attention.text}, {"tokens", tokens_json(attention.maps.text)}};
  for (const AttentionMap& map : attention.maps.maps) json["attention"].push_back(map_json(map));
  return json;
}

}  // namespace weft
