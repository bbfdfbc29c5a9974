// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

// Each function makes a tokenizer from a file of these bytes, and encodes and decodes with it. Returns false if a
// DataError refused the file; any other exception, or a memory error, is a bug.
namespace weft::test {

bool reads_tokenizer_json(std::span<const uint8_t> bytes);    // weft's own format
bool reads_rank_file(std::span<const uint8_t> bytes);         // .tiktoken
bool reads_vocab_and_merges(std::span<const uint8_t> bytes);  // vocab.json, a NUL, merges.txt
bool reads_hugging_face(std::span<const uint8_t> bytes);      // tokenizer.json of Hugging Face's tokenizers
bool reads_sentencepiece(std::span<const uint8_t> bytes);     // a SentencePiece model

}  // namespace weft::test
