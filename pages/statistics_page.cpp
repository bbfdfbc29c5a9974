// SPDX-License-Identifier: Apache-2.0
#include "pages/statistics_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pages/page.h"
#include "pages/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostBars = 50;

// The least of 1, 2, 5, 10, 20, ... for which few enough bins reach from `low` to `high`.
int64_t bin_width(int64_t low, int64_t high) {
  for (int64_t power = 1;; power *= 10) {
    for (const int64_t width : {power, 2 * power, 5 * power}) {
      if (high / width - low / width < kMostBars) return width;
    }
  }
}

// Bins of equal width, which begin at a multiple of it. The last one has the longest texts too, one of a hundred at
// most: bins up to a single very long text would be too wide for all others.
Json histogram_json(const Distribution& lengths) {
  const int64_t low = lengths.percentile(0), high = lengths.percentile(99), width = bin_width(low, high);
  std::vector<int64_t> bins(static_cast<size_t>(high / width - low / width + 1));
  for (const auto& [length, times] : lengths.counts()) {
    const auto bin = static_cast<size_t>(length / width - low / width);
    bins[std::min(bin, bins.size() - 1)] += times;
  }
  return {{"begin", low / width * width}, {"width", width}, {"bins", bins}};
}

Json percentiles_json(const Distribution& values) {
  Json list = Json::array();
  for (const int percent : {0, 5, 25, 50, 75, 95, 99, 100}) list.push_back({percent, values.percentile(percent)});
  return list;
}

Json side_json(const char* name, const SideStatistics& side) {
  Json json = {{"name", name}, {"tokens", side.tokens.sum()}, {"words", nullptr}, {"bytes", nullptr}};
  if (side.sizes) json["words"] = side.sizes->words.sum(), json["bytes"] = side.sizes->bytes.sum();
  json["vocabulary"] = side.vocabulary, json["distinct"] = side.distinct;
  json["mean"] = side.tokens.mean(), json["percentiles"] = percentiles_json(side.tokens);
  json["lengths"] = histogram_json(side.tokens);
  Json &ranks = json["ranks"] = Json::array(), &growth = json["growth"] = Json::array();
  for (const auto& [rank, count, covered] : side.ranks) ranks.push_back({rank, count, covered});
  for (const auto& [tokens, distinct] : side.growth) growth.push_back({tokens, distinct});
  Json& frequent = json["frequent"] = Json::array();
  for (const FrequentToken& token : side.frequent)
    frequent.push_back({token.id, token.count, page_text(token.text, 200)});
  return json;
}

Json split_json(const SplitStatistics& split) {
  Json json = {{"split", enum_name(split.split)}, {"texts", split.source.tokens.count()}};
  json["sides"].push_back(side_json(split.target ? "source" : "text", split.source));
  if (!split.target) return json;
  json["sides"].push_back(side_json("target", *split.target));
  json["shared"] = split.both->shared, json["ratios"] = percentiles_json(split.both->ratio_percent);
  return json;
}

}  // namespace

std::string statistics_page(const std::string& name, const std::vector<SplitStatistics>& splits) {
  Json json = {{"dataset", page_text(name)}, {"splits", Json::array()}};
  for (const SplitStatistics& split : splits) json["splits"].push_back(split_json(split));
  return page_html(PageKind::Statistics, json_block("statistics", json));
}

}  // namespace weft
