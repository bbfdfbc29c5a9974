#pragma once
#include <string_view>

#include "data/tokenizer/visible_bpe.h"

namespace weft {

// GPT-2's files. A token of vocab.json that is neither a byte nor made by a merge (`<|endoftext|>`) is a special.
TokenizerParts read_gpt2(const fs::path& vocab_json, const fs::path& merges_txt);

// A .tiktoken file: lines of base64(token), space, rank. The specials of the published files are added if their rank
// counts are met (100,256: cl100k's 100257-100260 and 100276; 50,256: `<|endoftext|>` 50256). In both kinds of file
// `<|endoftext|>`, if it is there, is bos and eos.
TokenizerParts read_tiktoken(const fs::path& ranks, std::string_view pattern);

}  // namespace weft
