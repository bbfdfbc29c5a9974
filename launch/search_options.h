// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "generate/search/config.h"
#include "launch/command_line/command.h"

namespace weft {

// The options of a search that translate, generate and evaluate take: --search KEY=VALUE for any field of SearchConfig,
// and short forms of common fields (--beam 5 is --search beam=5). add_to() keeps references to this object.
class SearchArguments {
 public:
  explicit SearchArguments(const SearchConfig& defaults = {}) : defaults_(defaults) {}

  void add_to(Command& command);
  // Adds another option that sets a field.
  void add_short_form(Command& command, const std::string& option, const std::string& key, const std::string& meaning);

  bool given() const { return !values_.empty() || !stop_strings_.empty(); }
  // The defaults, changed by the given options. If no method was given, a beam of more than one selects beam search, a
  // beam of one selects greedy search, and temperature, top_k or top_p selects sampling. ConfigError if fields do not
  // fit, or if an option was given that the method does not read.
  SearchConfig config() const;

  // "Fields of --search, with their defaults", for the end of a command's help.
  std::string help() const;

 private:
  bool states(const std::string& key) const;
  void refuse_unread(SearchMethod method) const;

  SearchConfig defaults_;
  std::vector<std::string> values_;        // "key=value"
  std::vector<std::string> stop_strings_;  // kept apart, since a stop string may hold anything
};

}  // namespace weft
