#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "evaluate/loaded_model.h"
#include "evaluate/text_generator.h"
#include "launch/commands.h"
#include "launch/search_options.h"
#include "parallel/session.h"

namespace weft {
namespace {

struct GenerateArguments {
  std::string checkpoint;
  bool best = false;
  bool json = false;
  SearchArguments search;

  void add_to(CLI::App& command) {
    command.add_option("--checkpoint", checkpoint, "A run directory (its latest checkpoint) or a checkpoint")
        ->required();
    command.add_flag("--best", best, "Of a run directory, the checkpoint with the lowest validation loss");
    search.add_to(command);
    command.add_flag("--json", json, "One JSON object a text");
  }
};

void print_texts(const TextGenerator& generator, const std::vector<std::string>& inputs,
                 const std::vector<NBest>& found, bool json, bool with_prompt) {
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      const std::string text = generator.text(hypothesis);
      if (json) {
        nlohmann::json line = hypothesis;
        line["input"] = inputs[i], line["text"] = text;
        std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
      } else {
        std::printf("%s%s\n", with_prompt ? inputs[i].c_str() : "", text.c_str());
      }
    }
  }
}

ExitCode generate(const GenerateArguments& a, const std::vector<std::string>& inputs, Task task) {
  const SearchConfig search = a.search.config();
  Session session = Session::alone();
  const LoadedModel loaded = load_model(session.context(), session.mesh(), a.checkpoint, a.best);
  if (loaded.job.task != task) {
    throw ConfigError(fmt::format("{} holds a {} model", loaded.path.string(), enum_name(loaded.job.task)),
                      task == Task::Translation ? "use weft generate" : "use weft translate");
  }
  const TextGenerator generator = text_generator(loaded);
  print_texts(generator, inputs, generator.generate(inputs, search), a.json, task == Task::Gpt);
  return ExitCode::Done;
}

}  // namespace

void add_translate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("translate", "Translate standard input to standard output, a sentence a line.");
  auto a = std::make_shared<GenerateArguments>();
  command->footer(
      "  echo 'Tomorrow I will buy two old houses.' | weft translate --checkpoint runs/NAME --beam 5\n"
      "  weft translate --checkpoint runs/NAME --temperature 0.8 --top-p 0.9 --seed 2 --n-best 3 <sentences.txt\n\n" +
      a->search.help());
  a->add_to(*command);
  command->callback([=, &action] {
    action = [=] {
      std::vector<std::string> lines;
      for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
      return generate(*a, lines, Task::Translation);
    };
  });
}

void add_generate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt with a language model.");
  auto a = std::make_shared<GenerateArguments>();
  a->search = SearchArguments({.method = SearchMethod::Sample, .max_length_factor = 0, .max_length_extra = 100});
  command->footer(
      "  weft generate --checkpoint runs/NAME --prompt 'Once upon a time' --temperature 0.8 --top-k 200 --n-best "
      "3\n\n" +
      a->search.help());
  auto prompts = std::make_shared<std::vector<std::string>>();
  a->add_to(*command);
  command->add_option("--prompt", *prompts, "Text to continue (may be repeated); none begins a document");
  a->search.add_short_form(*command, "--max-tokens", "max_length_extra", "Tokens to generate at most");
  command->callback([=, &action] {
    action = [=] {
      if (prompts->empty()) prompts->emplace_back();
      return generate(*a, *prompts, Task::Gpt);
    };
  });
}

}  // namespace weft
