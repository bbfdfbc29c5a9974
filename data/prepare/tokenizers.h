// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/prepare/prepare.h"
#include "data/prepare/records/split.h"
#include "data/prepare/text_job.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

struct Tokenizers {
  TokenizerPtr source;
  TokenizerPtr target;  // equal to `source` if there is no other
  // Until it is learnt, a tokenizer is a stand-in, which encodes bytes and has the bos and eos of the configuration.
  bool learns_source = false;
  bool learns_target = false;  // equal to learns_source if both sides share a tokenizer

  bool learns() const { return learns_source || learns_target; }
};

// Loads the tokenizers that need no text; the others are stand-ins.
Tokenizers known_tokenizers(const TextJob& job);

// Learns from the corpus' training split the tokenizers for which `known`, of known_tokenizers(), has stand-ins.
Tokenizers learn_tokenizers(const TextJob& job, const Tokenizers& known, Corpus& corpus, const PrepareOptions& options);

}  // namespace weft
