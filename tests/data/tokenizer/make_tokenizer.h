#pragma once
#include <span>

#include "data/tokenizer/trainer.h"

namespace weft::test {

inline TokenizerPtr train_tokenizer(const TokenizerConfig& config, std::span<const std::string_view> texts,
                                    int threads) {
  TokenizerTrainer trainer(config, threads);
  for (const std::string_view text : texts) trainer.add(text);
  return trainer.finish();
}

inline TokenizerPtr load_gpt2(const fs::path& vocab_json, const fs::path& merges_txt) {
  return train_tokenizer({.kind = TokenizerKind::Gpt2, .vocab_file = vocab_json, .merges_file = merges_txt}, {}, 1);
}

inline TokenizerPtr load_tiktoken(const fs::path& ranks, const std::string& pattern = "gpt4") {
  return train_tokenizer({.kind = TokenizerKind::Tiktoken, .pattern = pattern, .ranks_file = ranks}, {}, 1);
}

}  // namespace weft::test
