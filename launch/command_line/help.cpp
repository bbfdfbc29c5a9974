// SPDX-License-Identifier: Apache-2.0
#include "launch/command_line/help.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace weft {
namespace {

// CLI11 appends each check to the type: "INT:INT in [1 - 8]", "FLOAT:POSITIVE", "NAME:{a,b}". Only names are kept.
std::string short_type(const std::string& type) {
  const size_t colon = type.find(':');
  std::string name = type.substr(0, colon);
  if (name == "INT" || name == "UINT") name = "N";
  if (name == "FLOAT") name = "X";
  const bool has_names = colon != std::string::npos && type.compare(colon, 2, ":{") == 0;
  return has_names ? name + type.substr(colon) : name;
}

// A default list without its brackets.
std::string short_default(const std::string& value) {
  const bool is_list = value.size() >= 2 && value.front() == '[' && value.back() == ']';
  return is_list ? value.substr(1, value.size() - 2) : value;
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const auto replace = [&text](const std::string& before, const std::string& now) {
      if (const size_t at = text.find(before); at != std::string::npos) text.replace(at, before.size(), now);
    };
    replace(option->get_type_name(), short_type(option->get_type_name()));
    replace("=" + option->get_default_str(), "=" + short_default(option->get_default_str()));
    return text;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

void add_renamed_option(Command& command, const std::string& before, const std::string& now) {
  const auto refuse = [before, now](const CLI::results_t&) -> bool {
    throw ConfigError(fmt::format("{} was renamed: write {}", before, now));
  };
  command.app().add_option(before, refuse)->group("");
}

std::string fields_text(const std::vector<ConfigDoc>& docs) {
  std::string text;
  for (const ConfigDoc& doc : docs) {
    if (doc.section) {
      text += fmt::format("\n{}: {}\n", doc.key, doc.meaning);
    } else {
      text += fmt::format("  {} = {}  ({})\n      {}\n", doc.key, doc.value, doc.allowed, doc.meaning);
    }
  }
  return text;
}

}  // namespace weft
