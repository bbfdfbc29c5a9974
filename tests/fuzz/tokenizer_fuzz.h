// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

// Each makes a tokenizer of a file of these bytes and has it encode and decode. Whether that went well: false where the
// file was refused with a DataError; anything else that is thrown, or done to memory, is a bug.
namespace weft::test {

bool reads_tokenizer_json(std::span<const uint8_t> bytes);    // weft's own
bool reads_rank_file(std::span<const uint8_t> bytes);         // .tiktoken
bool reads_vocab_and_merges(std::span<const uint8_t> bytes);  // vocab.json, a NUL, merges.txt
bool reads_hugging_face(std::span<const uint8_t> bytes);      // tokenizer.json of Hugging Face's tokenizers
bool reads_sentencepiece(std::span<const uint8_t> bytes);     // a SentencePiece model

}  // namespace weft::test
