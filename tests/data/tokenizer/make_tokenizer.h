// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <algorithm>
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

inline TokenizerPtr load_tiktoken(const fs::path& ranks, const std::string& pattern = "") {
  return train_tokenizer({.kind = TokenizerKind::Tiktoken, .pattern = pattern, .ranks_file = ranks}, {}, 1);
}

inline std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = i; k < i + 3; ++k) bits = bits << 8 | (k < bytes.size() ? static_cast<uint8_t>(bytes[k]) : 0u);
    const size_t digits = std::min<size_t>(bytes.size() - i, 3) + 1;
    for (size_t k = 0; k < 4; ++k) text += k < digits ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// The lines of a rank file for the single bytes: byte b has the rank b.
inline std::string ranks_of_bytes() {
  std::string text;
  for (int b = 0; b < 256; ++b) text += base64(std::string(1, static_cast<char>(b))) + fmt::format(" {}\n", b);
  return text;
}

}  // namespace weft::test
