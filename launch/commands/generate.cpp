// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "base/error.h"
#include "launch/commands.h"
#include "launch/model_options.h"
#include "launch/search_options.h"
#include "launch/text_output.h"

namespace weft {
namespace {

struct GenerateArguments {
  ModelArguments model;
  SearchArguments search =
      SearchArguments({.method = SearchMethod::Sample, .max_length_factor = 0, .max_length_extra = 100});
  std::vector<std::string> prompts;
  std::string prompt_file;
  int64_t candidates = 0;
  bool specials = false;
};

// Reads one prompt per line. "-" is standard input.
std::vector<std::string> read_prompts(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    require<DataError>(file.is_open(), "{}: cannot be read", path);
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::vector<std::string> prompts;
  for (std::string line; std::getline(in, line);) prompts.push_back(line);
  require<DataError>(!in.bad(), "{}: cannot be read to its end", path);
  require<DataError>(!prompts.empty(), "{}: holds no prompt; expected one per line", path);
  return prompts;
}

std::vector<std::string> prompts_of(const GenerateArguments& a) {
  if (!a.prompt_file.empty()) return read_prompts(a.prompt_file);
  return a.prompts.empty() ? std::vector<std::string>{""} : a.prompts;
}

ExitCode generate(const GenerateArguments& a) {
  const SearchConfig search = a.search.config();
  const std::vector<std::string> prompts = prompts_of(a);
  Session session = Session::alone(a.model.device);
  const LoadedModel loaded = a.model.load(session);
  require_task(loaded, Task::Gpt, "use weft translate");
  TextGenerator generator = text_generator(loaded);
  generator.prompts.recognise_specials = a.specials;
  const bool grows = search.method != SearchMethod::Beam && search.n_best == 1;
  if (a.candidates > 0) {
    print_next_tokens(generator, prompts, a.candidates, a.model.json);
  } else if (prompts.size() == 1 && grows && !a.model.json && isatty(STDOUT_FILENO) != 0) {
    print_growing(generator, prompts[0], search);
  } else {
    print_texts(generator, prompts, search, {.json = a.model.json, .with_input = true});
  }
  return ExitCode::Done;
}

}  // namespace

void add_generate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "generate",
      "Continue a prompt with a language model. On a terminal a single text is shown while it is generated.");
  auto a = std::make_shared<GenerateArguments>();
  command->footer(
      "  weft generate --checkpoint runs/NAME --prompt 'Once upon a time' --temperature 0.8 --top-k 200 --n-best 3\n"
      "  weft generate --checkpoint runs/NAME --prompts questions.txt --beam 5 --no-repeat-ngram 3 --stop '###' "
      "--json\n"
      "  weft generate --checkpoint runs/NAME --prompt 'The capital of France is' --candidates 10\n\n" +
      a->search.help());
  a->model.add_to(*command, "One JSON object per text");
  a->model.add_weights_to(*command);
  a->search.add_to(*command);
  CLI::Option* prompt = command->add_option("--prompt", a->prompts,
                                            "Text to continue (repeatable); default: the beginning of a document");
  command->add_option("--prompts", a->prompt_file, "File with one prompt per line; -: standard input")
      ->excludes(prompt);
  command->add_flag("--specials", a->specials, "Read the names of special tokens in a prompt as those tokens");
  command
      ->add_option("--candidates", a->candidates,
                   "Instead of generating, show the N most probable next tokens with their probabilities")
      ->check(CLI::PositiveNumber);
  a->search.add_short_form(*command, "--max-tokens", "max_length_extra", "Maximum number of tokens to generate");
  command->callback([=, &action] { action = [=] { return generate(*a); }; });
}

}  // namespace weft
