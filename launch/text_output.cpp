// SPDX-License-Identifier: Apache-2.0
#include "launch/text_output.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/output.h"
#include "base/progress.h"
#include "generate/next_tokens.h"
#include "generate/one_line.h"
#include "generate/search/window.h"
#include "generate/text_stream.h"
#include "launch/json_line.h"
#include "launch/line_files.h"

namespace weft {

namespace {

// Says how much the model sees of each prompt that has more tokens than the model has positions.
void note_long_prompts(const TextGenerator& generator, const Prompts& prompts, const SearchConfig& search) {
  const int64_t positions = generator.job.model.max_length;
  for (size_t i = 0; i < prompts.texts.size() && search.method != SearchMethod::Beam; ++i) {
    const auto length = std::ssize(generator.prompt(prompts.texts[i]));
    if (length <= positions) continue;
    log_info("prompt {} has {} tokens; the model has {} positions and sees the last {}",
             prompts.first + static_cast<int64_t>(i) + 1, length, positions, length - window_start(length, positions));
  }
}

// Says which texts of a beam search ended because the model had no position left.
void note_cut_texts(const TextGenerator& generator, const std::vector<NBest>& found, const SearchConfig& search) {
  int64_t cut = 0, shortest = search.max_length_extra;
  for (const NBest& texts : found) {
    for (const Hypothesis& text : texts) {
      if (text.ending != Ending::MaxLength || std::ssize(text.tokens) >= search.max_length_extra) continue;
      ++cut, shortest = std::min(shortest, std::ssize(text.tokens));
    }
  }
  if (cut == 0) return;
  log_warning(
      "{} stopped early, {}after {} of {} tokens: prompt and text fill the model's {} positions, and the window of a "
      "beam search does not slide; that of greedy search (--beam 1) and of sampling does",
      counted(cut, "text"), cut == 1 ? "" : "the shortest ", shortest, search.max_length_extra,
      generator.job.model.max_length);
}

}  // namespace

void print_answers(const TextGenerator& generator, const std::vector<GenerationRequest>& requests,
                   const SearchConfig& search) {
  for (const std::string& text : answer_generations(generator, requests, search)) {
    print(json_line(nlohmann::ordered_json{{"text", text}}) + "\n");
  }
}

void print_texts(const TextGenerator& generator, const Prompts& prompts, const SearchConfig& search, bool json) {
  note_long_prompts(generator, prompts, search);
  const std::vector<NBest> found = generator.generate(prompts.texts, search, {}, prompts.first);
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      const std::string text = generator.text(hypothesis, search.stop_strings);
      if (json) {
        nlohmann::json line = hypothesis;
        line["input"] = prompts.texts[i], line["text"] = text;
        print(json_line(line) + "\n");
      } else {
        print(prompts.texts[i] + text + "\n");
      }
    }
  }
  note_cut_texts(generator, found, search);
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

void print_growing(const TextGenerator& generator, const Prompts& prompt, const SearchConfig& search) {
  note_long_prompts(generator, prompt, search);
  TextStream stream(generator.target_tokenizer, search.stop_strings);
  print(prompt.texts.front());
  const auto grown = [&](int64_t, std::span<const int32_t> tokens) { print(stream.grow(tokens)); };
  const auto found = generator.generate(prompt.texts, search, {.grown = grown}, prompt.first);
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

void print_vectors(const char* name, const std::vector<std::string>& labels, const VectorRows& vectors) {
  for (int64_t i = 0; i < vectors.count(); ++i) {
    const auto row = vectors.row(i);
    const nlohmann::ordered_json line = {{name, labels[i]}, {"vector", std::vector<float>(row.begin(), row.end())}};
    print(json_line(line) + "\n");
  }
}

void print_similarities(const std::vector<std::string>& labels, const std::vector<double>& similarities) {
  for (size_t a = 0; a < labels.size(); ++a) {
    std::string line;
    for (size_t b = 0; b < labels.size(); ++b) line += fmt::format("{:7.3f}", similarities[a * labels.size() + b]);
    print(fmt::format("{}  {}\n", line, labels[a]));
  }
}

void answer_file(Chat& chat, const std::string& path, const std::string& field) {
  LineFile file(path);
  for (std::string line; file.next(line);) {
    const std::string place = fmt::format("{}:{}", file.name().string(), file.line());
    try {
      Conversation conversation = read_conversation(line, field);
      conversation.push_back({.role = ChatRole::Assistant, .text = chat.answer(conversation)});
      print(fmt::format("{{\"{}\": {}}}\n", field, conversation_json(conversation)));
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}: {}", place, error.what()), error.hint());
    }
  }
}

void answer_lines(Chat& chat) {
  int64_t forgotten = 0;
  const auto answer = [&](const std::string& line) {
    if (line == kNewChat) return chat.begin_anew();
    chat.say(line, [](std::string_view piece) { print(std::string(piece)); });
    print("\n");
    if (chat.forgotten() == forgotten) return;
    log_info("{} forgotten: the model has no positions for more", counted(chat.forgotten() - forgotten, "message"));
    forgotten = chat.forgotten();
  };
  if (isatty(STDIN_FILENO) != 0) return each_typed_line(answer);
  LineFile lines("-");
  for (std::string line; lines.next(line);) answer(line);
}

}  // namespace weft
