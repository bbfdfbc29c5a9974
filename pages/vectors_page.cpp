// SPDX-License-Identifier: Apache-2.0
#include "pages/vectors_page.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "pages/page.h"
#include "pages/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// Every how many of them are shown, if at most `most` shall be.
int64_t step_of(int64_t count, int64_t most) { return (count + most - 1) / most; }

// A number with as many digits as a picture needs. null: not finite.
Json rounded_json(double value) {
  if (!std::isfinite(value)) return {};
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

Json labels_json(const std::vector<std::string>& labels) {
  Json list = Json::array();
  for (const std::string& label : labels) list.push_back(page_text(label, 200));
  return list;
}

Json places_json(const std::vector<PlanePoint>& places) {
  Json list = Json::array();
  for (const PlanePoint& place : places) list.push_back({rounded_json(place[0]), rounded_json(place[1])});
  return list;
}

// Cosines in ten-thousandths, which the page takes for weights.
int64_t cosine_json(double cosine) { return std::lround(1e4 * cosine); }

Json neighbours_json(const VectorMap& map) {
  Json list = Json::array();
  for (const std::vector<Neighbour>& nearest : map.neighbours) {
    Json row = Json::array();
    for (const Neighbour& one : nearest) row.push_back({one.index, cosine_json(one.similarity)});
    list.push_back(std::move(row));
  }
  return list;
}

Json similarities_json(const VectorMap& map) {
  const int64_t n = std::ssize(map.labels), step = step_of(n, kMostInMatrix);
  Json values = Json::array();
  for (int64_t a = 0; a < n; a += step) {
    for (int64_t b = 0; b < n; b += step) values.push_back(cosine_json(map.similarities[a * n + b]));
  }
  return {{"step", step}, {"values", std::move(values)}};
}

Json elements_json(const std::string& name, const VectorRows& vectors, int64_t step) {
  Json values = Json::array();
  for (int64_t i = 0; i < vectors.count(); ++i) {
    for (int64_t c = 0; c < vectors.width; c += step) values.push_back(rounded_json(vectors.row(i)[c]));
  }
  return {{"name", name}, {"values", std::move(values)}};
}

std::string vectors_page(const Json& json) { return page_html(PageKind::Vectors, json_block("vectors", json)); }

}  // namespace

std::string map_page(const std::string& model, MapOf of, const VectorMap& map) {
  const bool texts = of == MapOf::Texts;
  Json json = {{"model", page_text(model)},
               {"title", fmt::format("{} {}", map.labels.size(), texts ? "texts" : "positions")}};
  json["map"] = {{"labels", labels_json(map.labels)},
                 {"ordered", !texts},
                 {"components", places_json(map.components.places)},
                 {"explained", {rounded_json(map.components.explained[0]), rounded_json(map.components.explained[1])}},
                 {"t_sne", places_json(map.t_sne)},
                 {"perplexity", rounded_json(map.perplexity)},
                 {"divergence", rounded_json(map.divergence)},
                 {"neighbours", neighbours_json(map)},
                 {"similarities", similarities_json(map)}};
  return vectors_page(json);
}

std::string inputs_page(const std::string& model, const std::string& text, const InputVectors& inputs) {
  const auto count = std::ssize(inputs.tokens.texts);
  if (count > kMostInputTokens) {
    throw DataError(fmt::format("the text has {} tokens; a page shows at most {}", count, kMostInputTokens),
                    "give its beginning alone");
  }
  const int64_t step = step_of(inputs.sum.width, kMostElements);
  Json json = {{"model", page_text(model)}, {"title", page_text(text)}};
  Json& shown = json["inputs"] = {{"tokens", labels_json(inputs.tokens.texts)}, {"step", step}};
  shown["parts"].push_back(elements_json("token", inputs.token, step));
  if (inputs.position.count() > 0) {
    shown["parts"].push_back(elements_json("position", inputs.position, step));
    shown["parts"].push_back(elements_json("sum", inputs.sum, step));
  }
  return vectors_page(json);
}

}  // namespace weft
