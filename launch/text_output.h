// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "generate/chat.h"
#include "generate/line_translation.h"
#include "generate/requests.h"
#include "generate/text_generator.h"
#include "generate/text_vectors.h"

// The output of translate, generate, chat and embed on standard output.
namespace weft {

// Prompts, of which the first has the number `first`: sampling depends on it.
struct Prompts {
  std::vector<std::string> texts;
  int64_t first = 0;
};

// Prints an object with the text of each request.
void print_answers(const TextGenerator& generator, const std::vector<GenerationRequest>& requests,
                   const SearchConfig& search);

// Searches, then prints the texts of every prompt: each after its prompt, or as an object per line. Standard error says
// which texts the model's positions cut short, and which prompts the model does not see whole.
void print_texts(const TextGenerator& generator, const Prompts& prompts, const SearchConfig& search, bool json);

// Prints the translations of some lines: one line each, whatever line ends they hold (generate/one_line.h); with
// several translations per line, INDEX ||| TEXT ||| SCORE; or objects with an index. An index counts lines from 0.
void print_translations(const TextGenerator& generator, const LineBatch& batch, const std::vector<NBest>& found,
                        const SearchConfig& search, bool json);

// Prints one prompt and its continuation while the continuation grows: whole characters, each as soon as no stop string
// can remove it. It is one text, found greedily or by sampling.
void print_growing(const TextGenerator& generator, const Prompts& prompt, const SearchConfig& search);

// The `count` most probable next tokens of each prompt, quoted and escaped so that spaces and half characters show.
void print_next_tokens(const TextGenerator& generator, const std::vector<std::string>& prompts, int64_t count,
                       bool json);

// An object per vector, with its label under this name.
void print_vectors(const char* name, const std::vector<std::string>& labels, const VectorRows& vectors);

// One row of the matrix per label, which follows it. `similarities`: [labels, labels].
void print_similarities(const std::vector<std::string>& labels, const std::vector<double>& similarities);

// Answers what is typed, or the lines of standard input, on standard output. The line kNewChat begins another
// conversation.
inline constexpr const char* kNewChat = "/new";
void answer_lines(Chat& chat);

// Answers the conversations of a file ("-": standard input) and prints them with the answers, as objects that weft
// prepare reads. `field`: the member that holds the messages. DataError that names the line.
void answer_file(Chat& chat, const std::string& path, const std::string& field);

}  // namespace weft
