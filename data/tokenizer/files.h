#pragma once
#include <memory>
#include <string_view>

#include "data/tokenizer/model.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

struct TokenizerParts {
  std::unique_ptr<const TokenizerModel> model;
  SpecialTokens specials;
};

// What load_gpt2 and load_tiktoken put together.
TokenizerParts read_gpt2(const fs::path& vocab_json, const fs::path& merges_txt);
TokenizerParts read_tiktoken(const fs::path& ranks, std::string_view pattern);

}  // namespace weft
