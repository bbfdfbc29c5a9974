// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/tokenizer/tokenizer.h"

namespace weft {

// Whether every id stands for the same in both, so that one table of embeddings serves both. How they encode text may
// differ.
bool have_same_ids(const Tokenizer& one, const Tokenizer& other);

}  // namespace weft
