// SPDX-License-Identifier: Apache-2.0
#include "launch/shipped/manual.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launch/shipped/option_text.h"

namespace weft {
namespace {

// groff would read these characters as its own, or print a typographic sign that cannot be copied into a shell.
constexpr std::pair<char, std::string_view> kSigns[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                                        {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};

// Text for the page. A line that begins with a dot would be a command of groff's; \& before the dot makes it text.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (c == '.' && begins) out += "\\&";
    begins = c == '\n';
    const auto* const sign = std::ranges::find(kSigns, c, &std::pair<char, std::string_view>::first);
    if (sign == std::end(kSigns)) {
      out += c;
    } else {
      out += sign->second;
    }
  }
  return out;
}

// Lines that stay as they are.
std::string example(const std::string& text) {
  return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", escaped(text));
}

std::string option_entry(const CLI::Option& option) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", escaped(names_of(option)), escaped(value_of(option)),
                     escaped(option.get_description()));
}

std::string options_of(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : visible_options(command)) text += option_entry(*option);
  return text;
}

std::string command_entry(const CLI::App& command) {
  return fmt::format(".SS weft {}\n{}\n{}{}", escaped(command.get_name()), escaped(command.get_description()),
                     options_of(command), example(command.get_footer()));
}

}  // namespace

std::string manual_page(const CLI::App& program, const std::string& version) {
  std::string text = fmt::format(
      ".\\\" Written by weft manual.\n.TH WEFT 1 \"\" \"weft {}\" \"User Commands\"\n"
      ".SH NAME\nweft \\- distributed training of transformers\n"
      ".SH SYNOPSIS\n\\fBweft\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n{}\n{}.SH OPTIONS\n{}.SH COMMANDS\n",
      escaped(version), escaped(program.get_description()), example(program.get_footer()), options_of(program));
  for (const CLI::App* command : program.get_subcommands({})) text += command_entry(*command);
  return text;
}

}  // namespace weft
