// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>

#include "base/config/fields.h"
#include "data/tokenizer/tokenizer.h"
#include "launch/command_line/command.h"

namespace weft {

enum class TokenizerSide { Source, Target };
template <>
struct EnumNames<TokenizerSide> {
  static constexpr auto kNames = enum_names<TokenizerSide>("source", "target");
};

// The tokenizer that a command works with, from a file, a dataset or a checkpoint.
struct TokenizerArguments {
  std::string path;
  TokenizerSide side = TokenizerSide::Source;

  void add_to(Command& command);
  // DataError that names the path; ConfigError if nothing at the path can hold a tokenizer.
  TokenizerPtr load() const;
};

}  // namespace weft
