// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft {

// The fewest edits that a greedy search finds from a hypothesis to a reference: words inserted, deleted or replaced,
// and phrases shifted elsewhere, each counting one (Snover et al. 2006). The order in which shifts are tried, their
// limits (10 words, 50 places, 1000 candidates a line) and the beam around the diagonal of the edit distance are
// sacreBLEU's, which follow Tercom: a different search finds different figures.
int64_t edits_with_shifts(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference);

}  // namespace weft
