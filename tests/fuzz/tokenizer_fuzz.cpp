// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/tokenizer_fuzz.h"

#include <algorithm>

#include "data/tokenizer/trainer.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {
namespace {

// Ends with a run, in which a pattern's repeats take many steps.
constexpr std::string_view kText =
    "the  \xFF hat's \u65e5\u672c 12345\r\n\t<s> \u00e9"
    "                                                                                                    ";

TokenizerPtr load(const TokenizerConfig& config) { return TokenizerTrainer(config, 1).finish(); }

// `keeps_bytes`: decoding gives back every text that was encoded, unless a unigram model changed it.
template <class Make>
bool reads(Make&& make, bool keeps_bytes) {
  try {
    const TokenizerPtr tokenizer = make();
    for (const bool recognise : {false, true}) {
      const std::vector<int32_t> ids = tokenizer->encode(kText, {.recognise_specials = recognise});
      const std::string text = tokenizer->decode(ids, {.show_specials = true});
      require<InternalError>(!keeps_bytes || tokenizer->kind() == "unigram" || text == kText,
                             "\"{}\" came back as \"{}\"", kText, text);
    }
    require<InternalError>(Tokenizer::from_json(tokenizer->to_json(), "copy")->hash() == tokenizer->hash(),
                           "what was saved is another tokenizer");
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace

bool reads_tokenizer_json(std::span<const uint8_t> bytes) {
  const std::string_view text = text_of(bytes);
  return reads([&] { return Tokenizer::from_json(text, "fuzz"); }, false);
}

bool reads_rank_file(std::span<const uint8_t> bytes) {
  const MemoryFile file(bytes);
  return reads([&] { return load({.kind = TokenizerKind::Tiktoken, .pattern = "gpt4", .ranks_file = file.path()}); },
               true);
}

bool reads_vocab_and_merges(std::span<const uint8_t> bytes) {
  const auto middle = std::ranges::find(bytes, uint8_t{0});
  const MemoryFile vocab(std::span(bytes.begin(), middle));
  const MemoryFile merges(middle == bytes.end() ? std::span<const uint8_t>{} : std::span(middle + 1, bytes.end()));
  return reads(
      [&] { return load({.kind = TokenizerKind::Gpt2, .vocab_file = vocab.path(), .merges_file = merges.path()}); },
      true);
}

bool reads_hugging_face(std::span<const uint8_t> bytes) {
  const MemoryFile file(bytes);
  return reads([&] { return load({.kind = TokenizerKind::HuggingFace, .model_file = file.path()}); }, true);
}

bool reads_sentencepiece(std::span<const uint8_t> bytes) {
  const MemoryFile file(bytes);
  return reads([&] { return load({.kind = TokenizerKind::SentencePiece, .model_file = file.path()}); }, false);
}

}  // namespace weft::test
