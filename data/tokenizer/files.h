#pragma once
#include <string_view>

#include "data/tokenizer/visible_bpe.h"

namespace weft {

// GPT-2's files. A token of vocab.json that is neither a byte nor made by a merge (`<|endoftext|>`) is a special.
TokenizerParts read_gpt2(const fs::path& vocab_json, const fs::path& merges_txt);

// A .tiktoken file: lines of base64(token), space, rank. The files that OpenAI published are known by their ranks
// (how many there are, and the highest), bring their specials, and without `pattern` are cut by their own; an unknown
// file without `pattern` is a ConfigError that says what to write. In both kinds of file `<|endoftext|>`, if it is
// there, is bos and eos.
TokenizerParts read_tiktoken(const fs::path& ranks, std::string_view pattern);

}  // namespace weft
