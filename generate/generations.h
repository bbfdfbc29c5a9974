// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "data/tokenizer/tokenizer.h"
#include "generate/text_generator.h"
#include "job/job.h"

namespace weft {

// What a model writes while it learns: one prompt of log.generations at one of its temperatures.
struct Generation {
  double temperature = 0;
  std::string prompt, text;
};

// Every prompt of log.generations can be encoded and fits the model, if text is to be generated at all; ConfigError
// naming the prompt.
void check_prompts(const JobConfig& job, const Tokenizer& source, const Tokenizer& target);

// Calls `each` with what the model makes of every prompt at every temperature. Every rank decodes (a replica each) and
// gets all texts. `give_up` is asked before each temperature, on all ranks alike.
void generate_from_prompts(const TextGenerator& generator, const std::function<bool()>& give_up,
                           const std::function<void(const Generation&)>& each);

}  // namespace weft
