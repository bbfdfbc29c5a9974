// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "data/tokenizer/tokenizer.h"
#include "generate/text_generator.h"
#include "job/job.h"

namespace weft {

// A text that the model generates during training: one prompt of log.generations at one of its temperatures.
struct Generation {
  double temperature = 0;
  std::string prompt, text;
};

// Checks that every prompt of log.generations can be encoded and fits the model, if the job generates text at all.
// Throws ConfigError, which names the prompt.
void check_prompts(const JobConfig& job, const Tokenizer& source, const Tokenizer& target);

// Calls `each` with the model's text for every prompt at every temperature. Every rank decodes (each replica decodes
// all prompts) and gets all texts. Every rank calls `give_up` before each temperature.
void generate_from_prompts(const TextGenerator& generator, const std::function<bool()>& give_up,
                           const std::function<void(const Generation&)>& each);

}  // namespace weft
