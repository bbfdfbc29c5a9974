// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/tokenizer/tokenizer.h"
#include "generate/search/search.h"
#include "job/job.h"
#include "job/loaded_model.h"
#include "model/transformer.h"

namespace weft {

// Sentences to translate, as the token ids that preparation makes of sources (encode_source). An empty sentence has an
// empty translation. Sentence i is input number first + i x step of the whole text: sampling for it depends on that
// number, and not on how the text is divided.
struct Sentences {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<int32_t>> prefixes = {};  // tokens that each translation begins with; empty: no prefixes
  int64_t first = 0, step = 1;
};

// Texts that a model generates: continuations of prompts (gpt) or translations of sentences (translation), n_best for
// each input, in the order of the inputs.
struct TextGenerator {
  Transformer& model;
  const JobConfig& job;
  const Tokenizer& source_tokenizer;
  const Tokenizer& target_tokenizer;
  EncodeOptions prompts = {};  // how prompts are encoded

  // `first`: the number of the first text; sampling for a text depends on its number.
  std::vector<NBest> generate(const std::vector<std::string>& texts, const SearchConfig& search,
                              const SearchListener& listener = {}, int64_t first = 0) const;
  // Continues tokens up to `end`; for a beam search, the best continuation.
  Hypothesis continue_tokens(std::vector<int32_t> prompt, int32_t end, const SearchConfig& search,
                             const SearchListener& listener = {}, int64_t number = 0) const;
  // Throws DataError if a source is longer than the model's positions.
  std::vector<NBest> translate(Sentences sentences, const SearchConfig& search,
                               const SearchListener& listener = {}) const;
  // The text of a hypothesis, cut before the stop string that ended it, if one did.
  std::string text(const Hypothesis& hypothesis, std::span<const std::string> stop_strings = {}) const;

  // encode_prompt() with `prompts`.
  std::vector<int32_t> prompt(const std::string& text) const;
};

// The tokens of a text to continue, behind bos if the job's documents begin with it; for an empty text that or the end
// token, which also begins a document.
// Throws DataError if the text is empty and the tokenizer has no end token.
std::vector<int32_t> encode_prompt(const std::string& text, const Tokenizer& tokenizer, const DataConfig& data,
                                   const EncodeOptions& options = {});
// A sentence to translate, encoded as preparation encodes sources; an empty sentence has no tokens.
std::vector<int32_t> encode_sentence(const std::string& text, const Tokenizer& tokenizer, const DataConfig& data);

// The generator of a loaded model, which must outlive it.
TextGenerator text_generator(const LoadedModel& loaded);

}  // namespace weft
