// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "generate/search/next_token_model.h"
#include "model/transformer.h"

namespace weft {

// The factory of search models that decode with a Transformer. For translation `sources` holds the source tokens of
// every input, which the factory's batches index; for a language model it is empty.
ModelFactory decoder_factory(Transformer& model, std::vector<std::vector<int32_t>> sources = {});

}  // namespace weft
