// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft {

// The command line is CLI11's, which is a header of 4 seconds for each file that includes it. These two handles are
// what commands need of it, and command.cpp alone pays. Copies of a handle name the same option or command.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required(bool is = true);
  Option type_name(const std::string& name);  // how the help names the value: "DIR"
  Option one_of(const std::vector<std::string>& values);
  Option positive();
  Option not_negative();
  Option between(int64_t min, int64_t max);
  Option show_default();    // the help shows the variable's present value
  Option one_value_each();  // given twice, a list takes one word each time
  Option needs(Option other);
  Option excludes(Option other);

 private:
  CLI::Option* option_;
};

// Who does a command's work: one process, or the ranks that a launcher starts, together.
enum class Workers : uint8_t { OneProcess, Ranks };

class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  // A command of one process may be started as several ranks, for each of them its own text: a warning says that they
  // share nothing.
  Command add_command(const std::string& name, const std::string& purpose, Workers workers);
  // `variable` gets the value, and must live until the command line is parsed. An option without dashes is a positional
  // argument. T is one of the types for which command.cpp instantiates this.
  template <class T>
  Option add_option(const std::string& name, T& variable, const std::string& meaning);
  // `take` gets the word, or all words of an option that may be repeated.
  Option add_word_option(const std::string& name, const std::function<void(const std::string&)>& take,
                         const std::string& meaning);
  Option add_list_option(const std::string& name, const std::function<void(const std::vector<std::string>&)>& take,
                         const std::string& meaning);
  Option add_flag(const std::string& name, bool& variable, const std::string& meaning);
  Option option(const std::string& name);  // one that was added before
  void footer(const std::string& text);
  void on_parsed(std::function<void()> call);

  CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

}  // namespace weft
