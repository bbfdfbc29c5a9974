#include <iostream>

#include "launch/commands.h"
#include "launch/text_options.h"
#include "launch/text_output.h"
#include "parallel/session.h"

namespace weft {
namespace {

ExitCode translate(const TextArguments& a) {
  const SearchConfig search = a.search.config();
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  Session session = Session::alone(a.device);
  const LoadedModel loaded = a.load(session.context(), session.mesh(), Task::Translation);
  print_texts(text_generator(loaded), lines, search, {.json = a.json});
  return ExitCode::Done;
}

}  // namespace

void add_translate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("translate", "Translate standard input to standard output, a sentence a line.");
  auto a = std::make_shared<TextArguments>();
  command->footer(
      "  echo 'Tomorrow I will buy two old houses.' | weft translate --checkpoint runs/NAME --beam 5\n"
      "  weft translate --checkpoint runs/NAME --temperature 0.8 --top-p 0.9 --seed 2 --n-best 3 <sentences.txt\n\n" +
      a->search.help());
  a->add_to(*command);
  command->callback([=, &action] { action = [=] { return translate(*a); }; });
}

}  // namespace weft
