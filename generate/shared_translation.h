// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "generate/text_generator.h"

namespace weft {

// Translations in the order of the sentences, the same on every rank. Collective over the model's mesh: each replica
// decodes every dp-th sentence, and a text does not depend on which replica decodes it. `progress` receives the number
// of sentences done in this rank's share.
std::vector<NBest> translate_on_ranks(const TextGenerator& generator, const Sentences& sentences,
                                      const SearchConfig& search,
                                      const std::function<void(int64_t done, int64_t total)>& progress = {});

// Cuts a source that has more tokens than a model has positions; an end token that was its last is kept. Returns
// whether the source was cut.
bool cut_source(std::vector<int32_t>& source, int64_t max_length, std::optional<int32_t> eos);

}  // namespace weft
