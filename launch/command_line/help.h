// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/config/writer.h"
#include "launch/command_line/command.h"

namespace CLI {
class FormatterBase;
}

namespace weft {

// The layout of every command's help: numbers are N or X, whatever their range; names to choose from are {a,b}.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// An option that has another name now: the old name, which no help shows, is an error that gives the new one.
void add_renamed_option(Command& command, const std::string& before, const std::string& now);

// Fields for a terminal, two lines each: "  width = 128  (an integer from 1 to 1048576)" and the field's meaning.
std::string fields_text(const std::vector<ConfigDoc>& docs);

// "Fields of --search, with their defaults:" and the fields of T, for the end of a command's help.
template <Section T>
std::string fields_help(const std::string& option, const T& defaults = {}) {
  return "Fields of " + option + ", with their defaults:\n" + fields_text(config_docs(defaults));
}

}  // namespace weft
