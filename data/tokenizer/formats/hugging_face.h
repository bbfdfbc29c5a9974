// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "data/tokenizer/tokenizer.h"

// Tokenizers in the files of Hugging Face's `tokenizers` and `transformers`.
namespace weft {

// Reads the tokenizer of a directory: tokenizer.json if it exists, else vocab.json and merges.txt with
// added_tokens.json if that exists. Added tokens become specials. tokenizer_config.json, else special_tokens_map.json,
// says which of them begin and end a text and fill batches; if neither exists, `<|endoftext|>` begins and ends texts.
// Ids above the last token and below `vocabulary` become specials <|reserved_ID|>: a model may have more rows than its
// tokenizer has tokens. DataError naming file and member if the files require more than weft's BPE and unigram models
// do (another model or normalizer, a prefix space, tokens put around every text other than bos before it, ...), or if
// there are more than `vocabulary` ids.
struct HuggingFaceTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  bool begins_texts = false;  // whether every text begins with bos
};
HuggingFaceTokenizer read_hugging_face_tokenizer(const fs::path& directory, int64_t vocabulary);

// Whether such files can describe a tokenizer: a BPE by merges, of bytes or of characters, or a unigram model.
bool has_hugging_face_files(const Tokenizer& tokenizer);

// The specials that are put around every text.
struct TextFrame {
  std::optional<int32_t> before, after;
};

// The texts of the files that describe a tokenizer, by name: tokenizer.json and tokenizer_config.json, and vocab.json
// and merges.txt if it splits as GPT-2 does, which those two imply. `max_length`: the model's positions. DataError
// unless has_hugging_face_files().
std::map<std::string, std::string> hugging_face_tokenizer_files(const Tokenizer& tokenizer, int64_t max_length,
                                                                const TextFrame& frame = {});

}  // namespace weft
