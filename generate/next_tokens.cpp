// SPDX-License-Identifier: Apache-2.0
#include "generate/next_tokens.h"

#include <array>
#include <cmath>

#include "base/error.h"
#include "generate/search/model_decoder.h"

namespace weft {

std::vector<std::vector<NextToken>> next_tokens(const TextGenerator& generator, const std::vector<std::string>& prompts,
                                                int64_t count) {
  const ModelFactory decoder = decoder_factory(generator.model);
  const std::array<int64_t, 1> alone{0};
  std::vector<std::vector<NextToken>> found;
  for (const std::string& text : prompts) {
    const std::vector<int32_t> prompt = generator.prompt(text);
    const auto length = static_cast<int64_t>(prompt.size());
    const auto model = decoder({.sentences = alone, .max_sentences = 1, .max_rows = 1, .capacity = length});
    if (length > model->max_length()) {
      throw DataError(fmt::format("a prompt of {} tokens; the model has {} positions", length, model->max_length()),
                      "shorten it");
    }
    model->admit(1);
    const std::array<int32_t, 2> offsets{0, static_cast<int32_t>(length)};
    model->advance(prompt, offsets);
    const TokenQuestion of_first_row;
    const TokenAnswer answer = model->choose({&of_first_row, 1}, {.count = count}).front();
    auto& tokens = found.emplace_back();
    for (const ChosenToken& c : answer.chosen) {
      tokens.push_back({.token = c.token,
                        .text = generator.target_tokenizer.decode(std::span(&c.token, 1), {.show_specials = true}),
                        .probability = std::exp(static_cast<double>(c.logit) - answer.log_sum)});
    }
  }
  return found;
}

}  // namespace weft
