// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string_view>

#include "data/tokenizer/config.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

// Makes a tokenizer from text that arrives document by document, one for each add(): nothing is learned across document
// ends. The result depends on the documents and their order, never on the number of threads. Not to be called
// concurrently.
class TokenizerTrainer {
 public:
  TokenizerTrainer(const TokenizerConfig& config, int threads);
  ~TokenizerTrainer();

  bool needs_text() const;                    // false for bytes and loaded kinds: finish() needs no add()
  void add(std::string_view text);            // the text is not kept
  std::shared_ptr<const Tokenizer> finish();  // called once, at the end; DataError if no text came

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
