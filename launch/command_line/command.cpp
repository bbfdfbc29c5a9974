// SPDX-License-Identifier: Apache-2.0
#include "launch/command_line/command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "base/log.h"
#include "base/mpi.h"

namespace weft {
namespace {

void say_each_does_all(const std::string& command) {
  const LauncherInfo launcher = find_launcher();
  const int ranks = launcher.world_size.value_or(1);
  if (ranks == 1) return;
  log_warning("weft {} is the work of one process: each of the {} that {} has started does all of it", command, ranks,
              launcher.name);
}

}  // namespace

Option Option::required(bool is) { return option_->required(is), *this; }
Option Option::type_name(const std::string& name) { return option_->type_name(name), *this; }
Option Option::one_of(const std::vector<std::string>& values) { return option_->check(CLI::IsMember(values)), *this; }
Option Option::positive() { return option_->check(CLI::PositiveNumber), *this; }
Option Option::not_negative() { return option_->check(CLI::NonNegativeNumber), *this; }
Option Option::between(int64_t min, int64_t max) { return option_->check(CLI::Range(min, max)), *this; }
Option Option::show_default() { return option_->capture_default_str(), *this; }
Option Option::one_value_each() { return option_->allow_extra_args(false), *this; }
Option Option::needs(Option other) { return option_->needs(other.option_), *this; }
Option Option::excludes(Option other) { return option_->excludes(other.option_), *this; }

Command Command::add_command(const std::string& name, const std::string& purpose, Workers workers) {
  CLI::App* command = app_->add_subcommand(name, purpose);
  if (workers == Workers::OneProcess) command->parse_complete_callback([name] { say_each_does_all(name); });
  return Command(*command);
}

template <class T>
Option Command::add_option(const std::string& name, T& variable, const std::string& meaning) {
  return Option(*app_->add_option(name, variable, meaning));
}
template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, int64_t&, const std::string&);
template Option Command::add_option(const std::string&, uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<int64_t>&, const std::string&);

Option Command::add_word_option(const std::string& name, const std::function<void(const std::string&)>& take,
                                const std::string& meaning) {
  return Option(*app_->add_option_function<std::string>(name, take, meaning));
}
Option Command::add_list_option(const std::string& name,
                                const std::function<void(const std::vector<std::string>&)>& take,
                                const std::string& meaning) {
  return Option(*app_->add_option_function<std::vector<std::string>>(name, take, meaning));
}
Option Command::add_flag(const std::string& name, bool& variable, const std::string& meaning) {
  return Option(*app_->add_flag(name, variable, meaning));
}
Option Command::option(const std::string& name) { return Option(*app_->get_option(name)); }
void Command::footer(const std::string& text) { app_->footer(text); }
void Command::on_parsed(std::function<void()> call) { app_->callback(std::move(call)); }

}  // namespace weft
