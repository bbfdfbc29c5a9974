// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/prepare/records/split.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

// ConfigError if documents would run together: they are several, not whole files, and have no eos to separate them.
void check_documents_are_kept_apart(const DataConfig& data, const Tokenizer& tokenizer, Corpus& corpus);

}  // namespace weft
