// SPDX-License-Identifier: Apache-2.0
#include "pages/attention_page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "pages/page.h"
#include "pages/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(page_text(text, 200));
  return list;
}

// Weights in ten-thousandths, as the page shows them: whole numbers are short. null: not finite.
Json weights_json(std::span<const float> weights) {
  Json list = Json::array();
  for (const float w : weights) list.push_back(std::isfinite(w) ? Json(std::lround(1e4 * double{w})) : Json());
  return list;
}

Json map_json(const AttentionMap& map) {
  Json json = {{"kind", enum_name(map.kind)}, {"layer", map.layer}, {"entropy", map.entropy}};
  json["mean"] = weights_json(map.mean);
  for (int64_t h = 0; h < map.heads; ++h) json["heads"].push_back(weights_json(map.head(h)));
  return json;
}

Json alignment_json(const TextAttention& attention) {
  const Alignment& a = *attention.alignment;
  Json json = {{"layer", a.head.layer}, {"head", a.head.head}, {"token", enum_name(a.head.token)}};
  json["source"] = texts_json(a.source.words), json["words"] = texts_json(a.translation.words);
  json["links"] = a.words, json["moses"] = moses_line(a.words);
  for (const ScoredHead& s : attention.heads)
    json["scores"].push_back({s.head.layer, s.head.head, enum_name(s.head.token), s.score});
  return json;
}

}  // namespace

std::string attention_page(const TextAttention& attention) {
  Json json = {{"model", page_text(attention.model)}, {"text", page_text(attention.text)}};
  json["tokens"] = texts_json(attention.maps.text.texts);
  if (!attention.maps.source.ids.empty()) {
    json["source"] = page_text(attention.source);
    json["source_tokens"] = texts_json(attention.maps.source.texts);
  }
  for (const AttentionMap& map : attention.maps.maps) json["maps"].push_back(map_json(map));
  if (attention.alignment) json["alignment"] = alignment_json(attention);
  return page_html(PageKind::Attention, json_block("attention", json));
}

}  // namespace weft
