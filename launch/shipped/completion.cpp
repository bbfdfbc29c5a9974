// SPDX-License-Identifier: Apache-2.0
#include "launch/shipped/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/shipped/option_text.h"

namespace weft {
namespace {

// What the shells ask the program itself for; "$1" is the program as it was typed.
constexpr const char* kAskJobs = R"("$1" jobs 2>/dev/null | cut -d ' ' -f 1)";
constexpr const char* kAskKeys = R"("$1" keys 2>/dev/null | sed -nE 's/^  ([a-z0-9_.]+) = .*/\1=/p')";

// --set changes a field of a job in every command that has it.
bool sets_key(const CLI::Option& option) { return option.check_lname("set"); }

// The names that begin with a dash.
std::vector<std::string> dashed_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::string all_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : visible_options(command)) {
    const std::vector<std::string> own = dashed_names(*option);
    names.insert(names.end(), own.begin(), own.end());
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string all_commands(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, " "));
}

// The words that an option's value can be, as bash computes them; "" if it is anything, or a file.
std::string bash_values(const CLI::Option& option) {
  if (option.get_type_name() == kJobName) return R"($(_weft_ask_jobs "${COMP_WORDS[0]}"))";
  if (sets_key(option)) return R"($(_weft_ask_keys "${COMP_WORDS[0]}"))";
  return fmt::format("{}", fmt::join(choices_of(option), " "));
}

// A branch for each option or argument of a command whose values are known: "COMMAND --option") words="a b" ;;
std::string bash_branches(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : visible_options(command)) {
    const std::string values = bash_values(*option);
    if (values.empty()) continue;
    std::vector<std::string> before = dashed_names(*option);
    if (before.empty()) before = {command.get_name()};  // the first argument follows the command
    for (const std::string& word : before) {
      text += fmt::format("    '{} {}') words=\"{}\" ;;\n", command.get_name(), word, values);
    }
  }
  return text;
}

// Text within '...' in a specification of _arguments or _describe.
std::string zsh_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '\n') {
      out += ' ';
    } else {
      if (std::string_view("[]:\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

// What zsh does for a value: ":message:action".
std::string zsh_value(const CLI::Option& option) {
  if (option.get_type_size() == 0) return "";
  const std::string type = option.get_type_name();
  const std::vector<std::string> choices = choices_of(option);
  std::string action = "_files";
  if (type == kJobName) {
    action = "_weft_jobs";
  } else if (sets_key(option)) {
    action = "_weft_keys";
  } else if (!choices.empty()) {
    action = fmt::format("({})", fmt::join(choices, " "));
  }
  return fmt::format(":{}:{}", zsh_quoted(type.substr(0, type.find(':'))), action);
}

std::string zsh_arguments(const CLI::App& command) {
  std::string text = "_arguments -S";
  bool has_positional = false;
  for (const CLI::Option* option : visible_options(command)) {
    const std::string value = zsh_value(*option);
    for (const std::string& name : dashed_names(*option)) {
      text += fmt::format(" \\\n        '*{}[{}]{}'", name, zsh_quoted(option->get_description()), value);
    }
    if (!option->get_positional() || has_positional) continue;
    has_positional = true;
    text += fmt::format(" \\\n        '*{}'", value);
  }
  return text;
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  std::string values, options;
  for (const CLI::App* command : program.get_subcommands({})) {
    values += bash_branches(*command);
    options += fmt::format("      {}) words=\"{}\" ;;\n", command->get_name(), all_options(*command));
  }
  return fmt::format(R"bash(# Completion of weft's command line in bash, written by: weft completion bash
_weft_ask_jobs() {{ {}; }}
_weft_ask_keys() {{ {}; }}
_weft() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
  # bash makes three words of --option=value.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{} {}" -- "$current")
    return
  fi
  case "$command $previous" in
{}  esac
  if [[ $current == -* ]]; then
    case $command in
{}    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  # The value of a key follows the equals sign without a space.
  [[ ${{COMPREPLY[0]-}} != *= ]] || compopt -o nospace 2>/dev/null
}}
complete -o bashdefault -o default -F _weft weft
)bash",
                     kAskJobs, kAskKeys, all_commands(program), all_options(program), values, options);
}

std::string zsh_completion(const CLI::App& program) {
  std::string commands, branches;
  for (const CLI::App* command : program.get_subcommands({})) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), zsh_quoted(command->get_description()));
    branches += fmt::format("    {})\n      {}\n      ;;\n", command->get_name(), zsh_arguments(*command));
  }
  return fmt::format(R"zsh(#compdef weft
# Completion of weft's command line in zsh, written by: weft completion zsh
_weft_ask_jobs() {{ {}; }}
_weft_ask_keys() {{ {}; }}
_weft_jobs() {{ compadd -- ${{(f)"$(_weft_ask_jobs weft)"}}; }}
_weft_keys() {{ compadd -S '' -- ${{(f)"$(_weft_ask_keys weft)"}}; }}
_weft() {{
  local -a commands=(
{}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
{}  esac
}}
# zsh runs the file as a function the first time; a file that is read by source only registers it.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _weft "$@"
else
  compdef _weft weft
fi
)zsh",
                     kAskJobs, kAskKeys, commands, branches);
}

}  // namespace weft
