// SPDX-License-Identifier: Apache-2.0
#include "launch/text_output.h"

#include <nlohmann/json.hpp>

#include "base/output.h"
#include "generate/next_tokens.h"
#include "generate/one_line.h"
#include "generate/text_stream.h"
#include "launch/json_line.h"

namespace weft {

void print_texts(const TextGenerator& generator, const std::vector<std::string>& inputs, const SearchConfig& search,
                 TextOutput format) {
  const std::vector<NBest> found = generator.generate(inputs, search);
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      const std::string text = generator.text(hypothesis, search.stop_strings);
      if (format.json) {
        nlohmann::json line = hypothesis;
        line["input"] = inputs[i], line["text"] = text;
        print(json_line(line) + "\n");
      } else {
        print((format.with_input ? inputs[i] : "") + text + "\n");
      }
    }
  }
}

void print_translations(const TextGenerator& generator, const LineBatch& batch, const std::vector<NBest>& found,
                        const SearchConfig& search, bool json) {
  std::string lines;
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t index = batch.first + static_cast<int64_t>(i);
    for (const Hypothesis& hypothesis : found[i]) {
      const std::string text = generator.text(hypothesis, search.stop_strings);
      if (json) {
        nlohmann::json object = hypothesis;
        object["index"] = index, object["input"] = batch.lines[i], object["text"] = text;
        lines += json_line(object);
      } else if (search.n_best > 1) {
        lines += fmt::format("{} ||| {} ||| {:.6f}", index, one_line(text), hypothesis.score);
      } else {
        lines += one_line(text);
      }
      lines += '\n';
    }
  }
  print(lines);
}

void print_growing(const TextGenerator& generator, const std::string& prompt, const SearchConfig& search) {
  TextStream stream(generator.target_tokenizer, search.stop_strings);
  print(prompt);
  const auto grown = [&](int64_t, std::span<const int32_t> tokens) { print(stream.grow(tokens)); };
  const auto found = generator.generate({prompt}, search, {.grown = grown});
  print(stream.finish(generator.text(found[0][0], search.stop_strings)) + "\n");
}

void print_next_tokens(const TextGenerator& generator, const std::vector<std::string>& prompts, int64_t count,
                       bool json) {
  const auto found = next_tokens(generator, prompts, count);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!json && found.size() > 1) print(prompts[i] + "...\n");
    for (const NextToken& next : found[i]) {
      const nlohmann::ordered_json line = {
          {"input", prompts[i]}, {"token", next.token}, {"text", next.text}, {"probability", next.probability}};
      if (json) {
        print(json_line(line) + "\n");
      } else {
        print(fmt::format("{:9.5f} %  {:7}  {}\n", 100 * next.probability, next.token, json_line(line["text"])));
      }
    }
  }
}

}  // namespace weft
