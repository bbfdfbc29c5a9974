// SPDX-License-Identifier: Apache-2.0
#include "generate/requests.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace weft {

GenerationRequest parse_generation_request(std::string_view line, const std::string& where) {
  try {
    const nlohmann::json json = parse_json(line, where);
    GenerationRequest request{.prompt = json.at("prompt").get<std::string>()};
    if (json.contains("stop")) request.stop_strings = json["stop"].get<std::vector<std::string>>();
    if (json.contains("max_tokens")) request.max_tokens = integer_from<int64_t>(json["max_tokens"]);
    const bool has_empty = std::ranges::any_of(request.stop_strings, &std::string::empty);
    if (!has_empty && request.max_tokens.value_or(1) >= 1) return request;
  } catch (const nlohmann::json::exception&) {
  }
  throw DataError(fmt::format("{}: no prompt to continue", where),
                  R"(expected {"prompt": "...", "stop": ["\n"], "max_tokens": 50}; the last two may be left out)");
}

std::vector<std::string> answer_generations(const TextGenerator& generator,
                                            const std::vector<GenerationRequest>& requests,
                                            const SearchConfig& search) {
  std::map<std::pair<std::vector<std::string>, int64_t>, std::vector<size_t>> alike;  // places of requests
  for (size_t i = 0; i < requests.size(); ++i) {
    alike[{requests[i].stop_strings, requests[i].max_tokens.value_or(search.max_length_extra)}].push_back(i);
  }
  std::vector<std::string> texts(requests.size());
  int64_t answered = 0;
  for (const auto& [ends, places] : alike) {
    SearchConfig config = search;
    config.stop_strings.insert(config.stop_strings.end(), ends.first.begin(), ends.first.end());
    config.max_length_extra = ends.second;
    std::vector<std::string> prompts;
    for (const size_t place : places) prompts.push_back(requests[place].prompt);
    const std::vector<NBest> found = generator.generate(prompts, config, {}, answered);
    answered += std::ssize(prompts);
    for (size_t i = 0; i < places.size(); ++i) texts[places[i]] = generator.text(found[i].front(), config.stop_strings);
  }
  return texts;
}

}  // namespace weft
