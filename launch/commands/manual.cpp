// SPDX-License-Identifier: Apache-2.0
#include "launch/shipped/manual.h"

#include <memory>

#include "base/output.h"
#include "launch/build_info.h"
#include "launch/commands.h"
#include "launch/shipped/completion.h"

namespace weft {

void add_manual_command(Command& app, Action& action) {
  Command command =
      app.add_command("manual", "Print the manual page: every command with its options.", Workers::OneProcess);
  command.footer(
      "  weft manual | man -l -\n"
      "An installed weft has it in share/man: man weft.");
  command.on_parsed(
      [=, &action] { action = [=] { return print(manual_page(app.app(), weft_version())), ExitCode::Done; }; });
}

void add_completion_command(Command& app, Action& action) {
  Command command = app.add_command("completion", "Print a script that completes weft's command line in a shell.",
                                    Workers::OneProcess);
  command.footer(
      "  source <(weft completion bash)\n"
      "An installed weft has the scripts of both shells in share/, where the shells look for them.");
  auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "The shell").required().type_name("SHELL").one_of({"bash", "zsh"});
  command.on_parsed([=, &action] {
    action = [=] {
      print(*shell == "bash" ? bash_completion(app.app()) : zsh_completion(app.app()));
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
