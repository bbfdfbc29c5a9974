// SPDX-License-Identifier: Apache-2.0
#include "data/batches/padded_shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/divide_up.h"
#include "base/error.h"

namespace weft {
namespace {

constexpr int64_t kRowSteps = 16, kSequenceSteps = 2;  // buckets between a power of 2 and the next
constexpr int64_t kLeastRowStep = 8, kLeastSequenceStep = 4;

int64_t round_up(int64_t value, int64_t steps, int64_t least_step) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(value - 1, 1))));
  const int64_t step = std::max(power / steps, least_step);
  return divide_up(value, step) * step;
}

int64_t row_bucket(int64_t rows) { return round_up(rows, kRowSteps, kLeastRowStep); }

// The sequences that hold the rows between `from` and `to`.
int64_t padding_sequences(const BatchShape& from, const BatchShape& to, int64_t longest) {
  return divide_up(std::max(to.source_rows - from.source_rows, to.input_rows - from.input_rows), longest);
}

// Appends `rows` rows in `sequences` sequences of nearly one length.
void append(int64_t rows, int64_t sequences, PackedSequences& to) {
  const int64_t begin = to.num_tokens();
  to.tokens.resize(static_cast<size_t>(begin + rows), 0);
  for (int64_t i = 1; i <= sequences; ++i) to.offsets.push_back(static_cast<int32_t>(begin + rows * i / sequences));
}

}  // namespace

BatchShape greater_of(const BatchShape& a, const BatchShape& b) {
  return {std::max(a.sequences, b.sequences), std::max(a.source_rows, b.source_rows),
          std::max(a.input_rows, b.input_rows)};
}

BatchShape shape_of(const PlannedStep& step, std::span<const int64_t> places) {
  BatchShape shape{.sequences = std::ssize(places)};
  for (const int64_t place : places) {
    shape.source_rows += step.sequences[place].source_tokens;
    shape.input_rows += step.sequences[place].input_tokens;
  }
  return shape;
}

int64_t longest_sequence(const PlannedStep& step) {
  int64_t longest = 0;
  for (const PlannedSequence& s : step.sequences) {
    longest = std::max<int64_t>(longest, std::max(s.source_tokens, s.input_tokens));
  }
  return longest;
}

// A padding sequence has a row at least on each side: attention over no keys is not defined. So where one side would
// need more sequences than the other has rows to give them, the other takes its next bucket.
BatchShape bucket_of(std::span<const BatchShape> micro_batches, int64_t longest) {
  BatchShape bucket;
  for (const BatchShape& micro : micro_batches) bucket = greater_of(bucket, micro);
  const bool sources = bucket.source_rows > 0;
  if (sources) bucket.source_rows = row_bucket(bucket.source_rows + 1);
  bucket.input_rows = row_bucket(bucket.input_rows + 1);
  int64_t most_sequences = 0;
  for (bool fits = false; !fits;) {
    fits = true, most_sequences = 0;
    for (const BatchShape& micro : micro_batches) {
      const int64_t needed = padding_sequences(micro, bucket, longest);
      BatchShape least = bucket;
      if (sources) least.source_rows = row_bucket(micro.source_rows + needed);
      least.input_rows = row_bucket(micro.input_rows + needed);
      fits = fits && least.within(bucket);
      bucket = greater_of(bucket, least);
      most_sequences = std::max(most_sequences, micro.sequences + needed);
    }
  }
  bucket.sequences = round_up(most_sequences + 1, kSequenceSteps, kLeastSequenceStep);
  return bucket;
}

std::string padding_text() { return fmt::format("rows by 1/{}, sequences by 1/{}", kRowSteps, kSequenceSteps); }

void pad_to(const BatchShape& shape, int64_t longest, MicroBatch& micro) {
  const BatchShape own{micro.sequences(), micro.source.num_tokens(), micro.input.num_tokens()};
  const int64_t filled = padding_sequences(own, shape, longest), empty = shape.sequences - own.sequences - filled;
  require<InternalError>(own.within(shape) && empty >= 1, "{} sequences and {} + {} rows do not fit {} and {} + {}",
                         own.sequences, own.source_rows, own.input_rows, shape.sequences, shape.source_rows,
                         shape.input_rows);
  const auto fill = [&](int64_t rows, PackedSequences& side) {
    append(rows, filled, side);
    side.offsets.insert(side.offsets.end(), static_cast<size_t>(empty), side.offsets.back());
  };
  if (shape.source_rows > 0) fill(shape.source_rows - own.source_rows, micro.source);
  fill(shape.input_rows - own.input_rows, micro.input);
  micro.targets.resize(micro.input.tokens.size(), -1);
  micro.sequence_ids.resize(static_cast<size_t>(shape.sequences), 0);
  micro.padding_rows = shape.rows() - own.rows();
}

}  // namespace weft
