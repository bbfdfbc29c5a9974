// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/batches/batch.h"
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

// The leaves of a step: all of it, cut as a slice is. They do not depend on the number of replicas.
std::vector<std::vector<int64_t>> cut_leaves(const PlannedStep& step, int64_t leaf_tokens);

// The numbers of the leaves that each of `size` replicas takes, in ascending order; with fewer leaves than replicas
// some take none.
std::vector<std::vector<int64_t>> share_leaves(const PlannedStep& step, std::span<const std::vector<int64_t>> leaves,
                                               int64_t size);

// The places in step.sequences of each micro-batch of each of `size` replicas: cut_micro_batches() of its slice, or its
// leaves.
std::vector<std::vector<std::vector<int64_t>>> cut_for_all(const PlannedStep& step, int64_t size, int64_t max_tokens,
                                                           StepCut cut);

// The number of micro-batches that cut_micro_batches() makes of the slice.
int64_t count_micro_batches(const PlannedStep& step, std::span<const int64_t> slice, int64_t max_tokens);

}  // namespace weft
