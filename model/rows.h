#pragma once
#include "kernels/attention.h"
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Sequences laid end to end without padding, as the model sees them.
struct Rows {
  Offsets offsets;  // sequences + 1
  Tensor tokens;    // i32[rows]
  RowIds ids;       // sample and position of each row
  RowIds stream;    // of the rows of the residual stream here: the same, or a part (see TensorParallel::place)
  int64_t count() const { return offsets.empty() ? 0 : offsets.back(); }
  int64_t sequences() const { return offsets.empty() ? 0 : static_cast<int64_t>(offsets.size()) - 1; }
};

// Copies host tokens to the device. `samples` gives the dropout key of each sequence; `first_position` the position
// of each sequence's first row (0 where absent; decoding continues later).
Rows make_rows(Context& context, std::span<const int32_t> tokens, std::span<const int32_t> offsets,
               std::span<const int64_t> samples, std::span<const int32_t> first_position = {});

}  // namespace weft
