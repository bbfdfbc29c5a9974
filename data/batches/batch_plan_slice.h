// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/batches/batch_plan.h"

namespace weft {

// Relative arithmetic of one sequence in the model: linear in its tokens, and quadratic for attention.
int64_t sequence_cost(const PlannedSequence& sequence);

// The places in step.sequences that each of `size` replicas takes; every place is taken once. All replicas are cut
// together, in time and memory that grow with sequences and replicas.
std::vector<std::vector<int64_t>> slice_all(const PlannedStep& step, int64_t size);

// Cuts a slice into micro-batches of at most `max_tokens` source and target tokens (0: no limit; a longer sequence is a
// micro-batch of its own), nearly as few as possible and of nearly equal size.
std::vector<std::vector<int64_t>> cut_micro_batches(const PlannedStep& step, std::span<const int64_t> slice,
                                                    int64_t max_tokens);

// The number of micro-batches that cut_micro_batches() makes of the slice.
int64_t count_micro_batches(const PlannedStep& step, std::span<const int64_t> slice, int64_t max_tokens);

}  // namespace weft
