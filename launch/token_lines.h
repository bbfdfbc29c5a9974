// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "launch/command_line/command.h"
#include "launch/tokenizer_option.h"

namespace weft {

// Converts text to ids and back, line by line, from files or standard input to standard output (tokenize, detokenize).
struct TokenLines {
  TokenizerArguments tokenizer;
  std::vector<std::string> files;  // "-" and none: standard input
  bool specials = false;           // specials are read by name in text, and shown by name when ids become text
  bool pieces = false;             // pieces are shown instead of ids, or beside them in JSON
  bool json = false;               // one object per line

  void add_to(Command& command, const char* files_help);
  // DataError that begins with the file, the line and, for ids, the column.
  void tokenize() const;
  void detokenize() const;
};

}  // namespace weft
