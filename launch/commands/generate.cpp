// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/error.h"
#include "launch/commands.h"
#include "launch/line_files.h"
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
  std::string prompt_file, requests;
  int64_t candidates = 0;
  bool specials = false;
};

// Prints what was asked about some prompts.
void answer(const TextGenerator& generator, const GenerateArguments& a, const Prompts& prompts) {
  const SearchConfig search = a.search.config();
  const bool grows = prompts.texts.size() == 1 && search.method != SearchMethod::Beam && search.n_best == 1;
  if (a.candidates > 0) {
    print_next_tokens(generator, prompts.texts, a.candidates, a.model.json);
  } else if (grows && !a.model.json && isatty(STDOUT_FILENO) != 0) {
    print_growing(generator, prompts, search);
  } else {
    print_texts(generator, prompts, search, a.model.json);
  }
}

ExitCode generate(const GenerateArguments& a) {
  a.search.config();  // reports what does not fit before the model is loaded
  std::vector<std::string> prompts = a.prompts;
  if (!a.prompt_file.empty())
    prompts = read_requests(a.prompt_file, [](const std::string& line, const auto&) { return line; });
  const auto requests = read_requests(a.requests, parse_generation_request);
  const bool typed = prompts.empty() && isatty(STDIN_FILENO) != 0;
  if (prompts.empty()) prompts = {""};
  Session session = Session::alone(a.model.device);
  const LoadedModel loaded = a.model.load(session);
  require_task(loaded, Task::Gpt, "use weft translate");
  TextGenerator generator = text_generator(loaded);
  generator.prompts.recognise_specials = a.specials;
  if (!requests.empty()) {
    print_answers(generator, requests, a.search.config());
  } else if (!typed) {
    answer(generator, a, {.texts = prompts});
  } else {
    each_typed_line([&, next = int64_t{0}](const std::string& line) mutable {
      answer(generator, a, {.texts = {line}, .first = next++});
    });
  }
  return ExitCode::Done;
}

}  // namespace

void add_generate_command(Command& app, Action& action) {
  Command command = app.add_command(
      "generate",
      "Continue prompts with a language model. On a terminal, asks for them, and shows a text while it grows.",
      Workers::OneProcess);
  auto a = std::make_shared<GenerateArguments>();
  command.footer(
      "  weft generate --checkpoint runs/NAME --prompt 'Once upon a time' --temperature 0.8 --top-k 200 --n-best 3\n"
      "  weft generate --checkpoint runs/NAME --prompts questions.txt --beam 5 --no-repeat-ngram 3 --stop '###' "
      "--json\n"
      "  weft generate --checkpoint runs/NAME --prompt 'The capital of France is' --candidates 10\n\n" +
      a->search.help());
  a->model.add_to(command, "One JSON object per text");
  a->model.add_weights_to(command);
  a->search.add_to(command);
  Option prompt = command.add_option("--prompt", a->prompts,
                                     "Text to continue (repeatable). Without one a terminal is asked for lines "
                                     "until Ctrl-D; elsewhere, and for an empty one: a document from its "
                                     "beginning");
  command.add_option("--prompts", a->prompt_file, "File with one prompt per line; -: standard input")
      .excludes(prompt)
      .type_name("FILE");
  command
      .add_option("--requests", a->requests,
                  "File with an object per line instead: prompt, and if wanted stop (texts) and max_tokens")
      .excludes(prompt)
      .type_name("FILE");
  command.add_flag("--specials", a->specials, "Read the names of special tokens in a prompt as those tokens");
  command
      .add_option("--candidates", a->candidates,
                  "Instead of generating, show the N most probable next tokens with their probabilities")
      .positive();
  a->search.add_short_form(command, "--max-tokens", "max_length_extra", "Maximum number of tokens to generate");
  command.on_parsed([=, &action] { action = [=] { return generate(*a); }; });
}

}  // namespace weft
