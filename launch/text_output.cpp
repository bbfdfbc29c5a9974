// SPDX-License-Identifier: Apache-2.0
#include "launch/text_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_line.h"
#include "generate/next_tokens.h"
#include "generate/one_line.h"
#include "generate/text_stream.h"

namespace weft {
namespace {

void show_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

void show(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

void print_texts(const TextGenerator& generator, const std::vector<std::string>& inputs, const SearchConfig& search,
                 TextOutput format) {
  const std::vector<NBest> found = generator.generate(inputs, search);
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      const std::string text = generator.text(hypothesis, search.stop_strings);
      if (format.json) {
        nlohmann::json line = hypothesis;
        line["input"] = inputs[i], line["text"] = text;
        std::printf("%s\n", json_line(line).c_str());
      } else {
        std::printf("%s%s\n", format.with_input ? inputs[i].c_str() : "", text.c_str());
      }
    }
  }
}

void print_translations(const TextGenerator& generator, const LineBatch& batch, const std::vector<NBest>& found,
                        const SearchConfig& search, bool json) {
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t index = batch.first + static_cast<int64_t>(i);
    for (const Hypothesis& hypothesis : found[i]) {
      const std::string text = generator.text(hypothesis, search.stop_strings);
      std::string line;
      if (json) {
        nlohmann::json object = hypothesis;
        object["index"] = index, object["input"] = batch.lines[i], object["text"] = text;
        line = json_line(object);
      } else if (search.n_best > 1) {
        line = fmt::format("{} ||| {} ||| {:.6f}", index, one_line(text), hypothesis.score);
      } else {
        line = one_line(text);
      }
      show_line(line);
    }
  }
  flush_output();
}

void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw DataError(fmt::format("write standard output: {}", std::strerror(errno)), "what was printed is not complete");
}

void print_growing(const TextGenerator& generator, const std::string& prompt, const SearchConfig& search) {
  TextStream stream(generator.target_tokenizer, search.stop_strings);
  show(prompt);
  const auto grown = [&](int64_t, std::span<const int32_t> tokens) { show(stream.grow(tokens)); };
  const auto found = generator.generate({prompt}, search, {.grown = grown});
  show(stream.finish(generator.text(found[0][0], search.stop_strings)) + "\n");
}

void print_next_tokens(const TextGenerator& generator, const std::vector<std::string>& prompts, int64_t count,
                       bool json) {
  const auto found = next_tokens(generator, prompts, count);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!json && found.size() > 1) std::printf("%s...\n", prompts[i].c_str());
    for (const NextToken& next : found[i]) {
      const nlohmann::ordered_json line = {
          {"input", prompts[i]}, {"token", next.token}, {"text", next.text}, {"probability", next.probability}};
      if (json) {
        std::printf("%s\n", json_line(line).c_str());
      } else {
        std::printf("%9.5f %%  %7d  %s\n", 100 * next.probability, next.token, json_line(line["text"]).c_str());
      }
    }
  }
}

}  // namespace weft
