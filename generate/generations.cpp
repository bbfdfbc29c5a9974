// SPDX-License-Identifier: Apache-2.0
#include "generate/generations.h"

#include <fmt/core.h>

namespace weft {

void check_prompts(const JobConfig& job, const Tokenizer& source, const Tokenizer& target) {
  if (job.log.generations.every_steps == 0) return;
  const std::vector<std::string>& prompts = job.log.generations.prompts;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string key = fmt::format("log.generations.prompts[{}]", i);
    size_t tokens = 0;
    try {
      tokens = job.is_translation() ? encode_sentence(prompts[i], source, job.data).size()
                                    : encode_prompt(prompts[i], target, job.data).size();
    } catch (const DataError& error) {
      throw ConfigError(fmt::format("{}: {}", key, error.what()), "change the prompt, or remove it");
    }
    if (static_cast<int64_t>(tokens) <= job.model.max_length) continue;
    throw ConfigError(
        fmt::format("{}: it has {} tokens, but model.max_length is {}", key, tokens, job.model.max_length),
        "shorten the prompt");
  }
}

void generate_from_prompts(const TextGenerator& generator, const std::function<bool()>& give_up,
                           const std::function<void(const Generation&)>& each) {
  const GenerationsConfig& config = generator.job.log.generations;
  for (const double temperature : config.temperatures) {
    if (give_up()) return;
    const SearchConfig search{.method = SearchMethod::Sample,
                              .temperature = temperature,
                              .max_length_factor = 0,
                              .max_length_extra = config.max_tokens};
    const std::vector<NBest> texts = generator.generate(config.prompts, search);
    for (size_t i = 0; i < texts.size(); ++i) {
      each({.temperature = temperature, .prompt = config.prompts[i], .text = generator.text(texts[i][0])});
    }
  }
}

}  // namespace weft
