// SPDX-License-Identifier: Apache-2.0
#include "launch/search_options.h"

#include <algorithm>
#include <array>

#include "base/config/reader.h"
#include "base/error.h"
#include "launch/command_line/help.h"

namespace weft {
namespace {

// Fields that have a separate option.
constexpr auto kShortForms =
    std::to_array<std::string_view>({"beam", "n_best", "length_penalty", "temperature", "top_k", "top_p", "seed",
                                     "no_repeat_ngram", "repetition_penalty", "min_length"});

}  // namespace

void SearchArguments::add_short_form(Command& command, const std::string& option, const std::string& key,
                                     const std::string& meaning) {
  command
      .add_word_option(
          option, [this, key](const std::string& value) { values_.push_back(key + "=" + value); }, meaning)
      .type_name("VALUE");
}

void SearchArguments::add_to(Command& command) {
  for (const ConfigDoc& doc : config_docs(defaults_)) {
    if (std::ranges::find(kShortForms, doc.key) == kShortForms.end()) continue;
    std::string option = "--" + doc.key;
    std::ranges::replace(option, '_', '-');
    add_short_form(command, option, doc.key, doc.meaning);
  }
  command.add_option("--stop", stop_strings_, "End a text before the first occurrence of this string (repeatable)")
      .type_name("TEXT");
  command
      .add_list_option(
          "--search",
          [this](const std::vector<std::string>& given) { values_.insert(values_.end(), given.begin(), given.end()); },
          "Set any field of the search: --search no_repeat_ngram=3 (repeatable)")
      .type_name("KEY=VALUE");
}

bool SearchArguments::states(const std::string& key) const {
  return std::ranges::any_of(values_, [&](const std::string& value) { return value.starts_with(key + "="); });
}

void SearchArguments::refuse_unread(SearchMethod method) const {
  const auto refuse = [&](std::initializer_list<const char*> keys, const char* hint) {
    for (const char* key : keys) {
      if (!states(key)) continue;
      throw ConfigError(fmt::format("search: {} has no effect with method {}", key, enum_name(method)),
                        fmt::format("remove it, or {}", hint));
    }
  };
  if (method != SearchMethod::Sample) refuse({"temperature", "top_k", "top_p", "seed"}, "set --search method=sample");
  if (method == SearchMethod::Sample) refuse({"beam"}, "set --search method=beam");
  if (method != SearchMethod::Beam) refuse({"stop"}, "set --search method=beam");
}

SearchConfig SearchArguments::config() const {
  SearchConfig config = read_options("--search", values_, defaults_);
  if (!states("method")) {
    if (states("beam")) {
      config.method = config.beam > 1 ? SearchMethod::Beam : SearchMethod::Greedy;
    } else if (states("temperature") || states("top_k") || states("top_p")) {
      config.method = SearchMethod::Sample;
    }
  }
  config.stop_strings.insert(config.stop_strings.end(), stop_strings_.begin(), stop_strings_.end());
  check(config);
  refuse_unread(config.method);
  return config;
}

std::string SearchArguments::help() const { return fields_help("--search", defaults_); }

}  // namespace weft
