// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>

#include "data/tokenizer/tokenizer.h"
#include "job/job.h"
#include "model/transformer.h"

namespace weft {

// Prints what a model writes, while it learns. `give_up` is asked on all ranks alike before each temperature.
using SampleWriter = std::function<void(Transformer& model, int64_t step, const std::function<bool()>& give_up)>;

// Every prompt of log.generations can be encoded and fits the model, if text is to be generated at all; ConfigError
// naming the prompt.
void check_prompts(const JobConfig& job, const Tokenizer& source, const Tokenizer& target);

// Prints what the model makes of log.generations.prompts at each temperature. Every rank decodes (a replica each), rank
// 0 prints. Errors as check_prompts().
SampleWriter make_sample_writer(const JobConfig& job, bool is_rank0);

}  // namespace weft
