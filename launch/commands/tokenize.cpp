// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "launch/commands.h"
#include "launch/token_lines.h"

namespace weft {

void add_tokenize_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("tokenize", "Show the ids of text, a line of ids for each line.");
  command->footer(
      "  echo 'what is this' | weft tokenize --tokenizer prepared/my-text\n"
      "  weft tokenize --tokenizer runs/NAME --side target --pieces --json sentences.txt\n"
      "Nothing is put around a line, and its end is not a part of it. A byte order mark at the beginning of a file "
      "and\n"
      "carriage returns at the ends of lines are left out, as preparation does.");
  auto a = std::make_shared<TokenLines>();
  a->add_to(*command, "Text, a record a line; none or -: standard input");
  command->add_flag("--specials", a->specials, "Names of special tokens in the text are those tokens");
  command->add_flag("--pieces", a->pieces, "Show what each id stands for, quoted; with --json beside the ids");
  command->callback([=, &action] { action = [=] { return a->tokenize(), ExitCode::Done; }; });
}

void add_detokenize_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("detokenize", "Show the text of ids, a text for each line of ids.");
  command->footer(
      "  echo '10919 318 428' | weft detokenize --tokenizer gpt2.tiktoken\n"
      "A text that holds line ends takes several lines; --json keeps one a record.");
  auto a = std::make_shared<TokenLines>();
  a->add_to(*command, "Ids between blanks, a record a line; none or -: standard input");
  command->add_flag("--specials", a->specials, "Show special tokens by name instead of leaving them out");
  command->callback([=, &action] { action = [=] { return a->detokenize(), ExitCode::Done; }; });
}

}  // namespace weft
