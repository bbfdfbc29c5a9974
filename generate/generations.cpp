// SPDX-License-Identifier: Apache-2.0
#include "generate/generations.h"

#include <fmt/format.h>

#include "base/log.h"
#include "data/dataset/dataset.h"
#include "generate/text_generator.h"

namespace weft {

void check_prompts(const JobConfig& job, const Tokenizer& source, const Tokenizer& target) {
  if (job.log.generations.every_steps == 0) return;
  const std::vector<std::string>& prompts = job.log.generations.prompts;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string key = fmt::format("log.generations.prompts[{}]", i);
    size_t tokens = 0;
    try {
      tokens = job.is_translation() ? encode_sentence(prompts[i], source, job.data).size()
                                    : encode_prompt(prompts[i], target).size();
    } catch (const DataError& error) {
      throw ConfigError(fmt::format("{}: {}", key, error.what()), "change the prompt, or remove it");
    }
    if (static_cast<int64_t>(tokens) <= job.model.max_length) continue;
    throw ConfigError(
        fmt::format("{}: it has {} tokens, but model.max_length is {}", key, tokens, job.model.max_length),
        "shorten the prompt");
  }
}

SampleWriter make_sample_writer(const JobConfig& job, bool is_rank0) {
  const Dataset dataset = Dataset::open(job.data.directory, DataSplit::Train, ShardShare::none());
  auto source = dataset.load_source_tokenizer(), target = dataset.load_target_tokenizer();
  check_prompts(job, *source, *target);
  return [&job, is_rank0, source, target](Transformer& model, int64_t step, const std::function<bool()>& give_up) {
    const TextGenerator generator{model, job, *source, *target};
    for (const double temperature : job.log.generations.temperatures) {
      if (give_up()) return;
      SearchConfig search{.method = SearchMethod::Sample,
                          .temperature = temperature,
                          .max_length_factor = 0,
                          .max_length_extra = job.log.generations.max_tokens};
      const auto texts = generator.generate(job.log.generations.prompts, search);
      for (size_t i = 0; i < texts.size() && is_rank0; ++i) {
        log_info("  step {}, temperature {:g}: {} => {}", step, temperature, job.log.generations.prompts[i],
                 generator.text(texts[i][0]));
      }
    }
  };
}

}  // namespace weft
