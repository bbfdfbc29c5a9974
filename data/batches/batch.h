// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace weft {

// Sequences laid end to end. Sequence i is tokens[offsets[i] .. offsets[i + 1]).
struct PackedSequences {
  std::vector<int32_t> tokens;
  std::vector<int32_t> offsets;  // sequences + 1, the first is 0

  int64_t sequences() const { return offsets.empty() ? 0 : static_cast<int64_t>(offsets.size()) - 1; }
  int64_t num_tokens() const { return static_cast<int64_t>(tokens.size()); }
};

// Whether the micro-batches of a step are filled up to one of a few shapes. Steps of pairs hardly ever have equal
// numbers of rows, and a CUDA graph serves steps of one shape alone.
enum class Padding : uint8_t { None, Buckets };

// What is cut into micro-batches: each rank's share of a step; or the step, whose micro-batches are then called leaves.
// Ranks take whole leaves, which are therefore the same on any number of ranks.
enum class StepCut : uint8_t { Shares, Leaves };

// What the shapes of a micro-batch's tensors follow from: its sequences, and their rows.
struct BatchShape {
  int64_t sequences = 0, source_rows = 0, input_rows = 0;

  int64_t rows() const { return source_rows + input_rows; }
  // Whether all three are at most those of `other`.
  bool within(const BatchShape& other) const {
    return sequences <= other.sequences && source_rows <= other.source_rows && input_rows <= other.input_rows;
  }
  bool operator==(const BatchShape&) const = default;
};

// The sequences that one rank takes through the model at once.
struct MicroBatch {
  // The place of each sequence in the step's list, or if windows are cut at documents, the place of its first input
  // among the step's inputs: < 2^32, unique within the step and the same on any layout, so dropout may use it as a
  // coordinate.
  std::vector<int64_t> sequence_ids;
  PackedSequences source;        // encoder input; empty for a language model
  PackedSequences input;         // decoder input
  std::vector<int32_t> targets;  // the token that follows each input token; -1 if nothing is to be predicted
  int64_t padding_rows = 0;      // rows of source and input at the end that are no tokens (data/batches/padded_shape.h)

  int64_t tokens() const { return source.num_tokens() + input.num_tokens() - padding_rows; }  // source and target
  int64_t sequences() const { return static_cast<int64_t>(sequence_ids.size()); }
  int64_t target_tokens() const {
    int64_t count = 0;
    for (int32_t target : targets) count += target >= 0;
    return count;
  }
};

// One rank's share of one step, with the totals of the whole step. A rank may have no micro-batch at all.
struct StepBatches {
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  int64_t step_target_tokens = 0;  // targets >= 0 over all ranks: the divisor of the loss
  int64_t step_sequences = 0;      // sequences over all ranks
  int64_t most_micro = 0;          // micro-batches of the rank with the most
  int64_t leaves = 0;              // of the whole step; 0: it is not cut into leaves
  // A hash: steps of equal shape have tensors of equal shapes on every rank. It is that of the planned sequences'
  // lengths in order, which also gives equal offsets (unless sequences are cut), or with padding, of the bucket.
  uint64_t shape = 0;
  BatchShape bucket;         // with padding: what all micro-batches of all ranks are filled up to
  int64_t padding_rows = 0;  // over all ranks
  std::vector<MicroBatch> micro;
  std::vector<int64_t> leaf;  // the number in the step of each micro-batch that is a leaf, ascending

  int64_t target_tokens() const {
    int64_t count = 0;
    for (const MicroBatch& m : micro) count += m.target_tokens();
    return count;
  }
};

}  // namespace weft
