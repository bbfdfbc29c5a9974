// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "data/batches/batch.h"
#include "data/batches/batch_plan.h"

namespace weft {

BatchShape greater_of(const BatchShape& a, const BatchShape& b);

// The shape of the sequences at these places of the step.
BatchShape shape_of(const PlannedStep& step, std::span<const int64_t> places);
// In tokens, over both sides.
int64_t longest_sequence(const PlannedStep& step);

// The bucket of all micro-batches of a step, whose own shapes are given. A bucket's rows are a sixteenth of a power of
// 2 apart and its sequences a half, so that 3 % of the rows are padding, more where micro-batches differ. pad_to() can
// fill each micro-batch up to it with sequences that are no longer than `longest`.
BatchShape bucket_of(std::span<const BatchShape> micro_batches, int64_t longest);

// What results depend on by rounding: "rows by 1/16, sequences by 1/2".
std::string padding_text();

// Fills the micro-batch up with sequences of token 0 that predict nothing, and at least one sequence without tokens.
// Their rows have no loss and no gradient, and leave no trace in those of other rows: all operations but attention work
// by rows, and attention sees one sequence at a time. The empty sequence keeps the lengths of sequences from being
// equal: what computes only equal lengths therefore never takes a padded batch, whatever its sequences are.
void pad_to(const BatchShape& shape, int64_t longest, MicroBatch& micro);

}  // namespace weft
