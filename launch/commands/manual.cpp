// SPDX-License-Identifier: Apache-2.0
#include "launch/shipped/manual.h"

#include "base/output.h"
#include "launch/build_info.h"
#include "launch/commands.h"
#include "launch/shipped/completion.h"

namespace weft {

void add_manual_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("manual", "Print the manual page: every command with its options.");
  command->footer(
      "  weft manual | man -l -\n"
      "An installed weft has it in share/man: man weft.");
  command->callback(
      [&app, &action] { action = [&app] { return print(manual_page(app, weft_version())), ExitCode::Done; }; });
}

void add_completion_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes weft's command line in a shell.");
  command->footer(
      "  source <(weft completion bash)\n"
      "An installed weft has the scripts of both shells in share/, where the shells look for them.");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "The shell")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([=, &app, &action] {
    action = [=, &app] {
      print(*shell == "bash" ? bash_completion(app) : zsh_completion(app));
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
