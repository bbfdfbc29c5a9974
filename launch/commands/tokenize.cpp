// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "launch/commands.h"
#include "launch/token_lines.h"

namespace weft {

void add_tokenize_command(Command& app, Action& action) {
  Command command = app.add_command("tokenize", "Convert text to token ids, line by line.", Workers::OneProcess);
  command.footer(
      "  echo 'what is this' | weft tokenize --tokenizer prepared/my-text\n"
      "  weft tokenize --tokenizer runs/NAME --side target --pieces --json sentences.txt\n"
      "No special tokens are added to a line, and its line end is not encoded. A byte order mark at the beginning of "
      "a\n"
      "file and carriage returns at the ends of lines are removed, as in preparation.");
  auto a = std::make_shared<TokenLines>();
  a->add_to(command, "Text, one record per line; none or -: standard input");
  command.add_flag("--specials", a->specials, "Read the names of special tokens in the text as those tokens");
  command.add_flag("--pieces", a->pieces, "Show the quoted text of each id instead of the id; with --json beside it");
  command.on_parsed([=, &action] { action = [=] { return a->tokenize(), ExitCode::Done; }; });
}

void add_detokenize_command(Command& app, Action& action) {
  Command command = app.add_command("detokenize", "Convert token ids to text, line by line.", Workers::OneProcess);
  command.footer(
      "  echo '10919 318 428' | weft detokenize --tokenizer gpt2.tiktoken\n"
      "A text with line breaks takes several lines; --json prints one line per record.");
  auto a = std::make_shared<TokenLines>();
  a->add_to(command, "Ids separated by spaces, one record per line; none or -: standard input");
  command.add_flag("--specials", a->specials, "Show special tokens by name instead of omitting them");
  command.on_parsed([=, &action] { action = [=] { return a->detokenize(), ExitCode::Done; }; });
}

}  // namespace weft
