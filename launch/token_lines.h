// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "launch/tokenizer_option.h"

namespace weft {

// Text to ids and back, line by line from files or standard input to standard output (weft tokenize, detokenize).
struct TokenLines {
  TokenizerArguments tokenizer;
  std::vector<std::string> files;  // "-" and none: standard input
  bool specials = false;           // are read by name in text, and shown by name where ids become text
  bool pieces = false;             // are shown in place of ids, or beside them in JSON
  bool json = false;               // an object a line

  void add_to(CLI::App& command, const char* files_help);
  // DataError that begins with file, line and, of ids, column.
  void tokenize() const;
  void detokenize() const;
};

}  // namespace weft
