// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "data/tokenizer/bpe/visible.h"

namespace weft {

// Reads GPT-2's files. A token of vocab.json that is neither a byte nor made by a merge (`<|endoftext|>`) is a special.
TokenizerParts read_gpt2(const fs::path& vocab_json, const fs::path& merges_txt);

// Reads a .tiktoken file: lines of base64(token), space, rank. The files that OpenAI published are recognised by the
// number of their ranks and the highest rank. They get their specials, and without `pattern` the pattern that they
// were made with; an unknown file without `pattern` is a ConfigError with a hint. In both kinds of file
// `<|endoftext|>`, if present, is bos and eos.
TokenizerParts read_tiktoken(const fs::path& ranks, std::string_view pattern);

// Reads a tokenizer.json of Hugging Face's tokenizers: byte-level BPE of a text or its normal form, cut by regular
// expressions, GPT-2's pattern and digits, BPE of characters with byte fallback, or a unigram model. Added tokens
// become specials, those that are not special `in_text`. The tokens that it puts around whole texts (its
// post-processor) are ignored: the job sets these. DataError naming file and member if weft would encode text
// differently: another model or normalizer, ...
TokenizerParts read_hugging_face(const fs::path& tokenizer_json);

// Reads a SentencePiece model, by BPE or unigram. Its unknown and control pieces become specials; the model states
// which are unk, bos, eos and pad. ConfigError in a build without libsentencepiece.
TokenizerParts read_sentencepiece(const fs::path& model);

}  // namespace weft
