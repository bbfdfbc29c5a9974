#pragma once
#include "kernels/attention.h"
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Sequences laid end to end without padding, as the model sees them: every token is a row of activations. A tensor
// over them holds
//   replicated tokens        all of them, the same on every tp rank: what products and attention see
//   sequence-sharded tokens  with sequence parallelism, what the residual stream holds: this tp rank's part of them,
//                            all parts equally long (the last tokens are padding); without it, the replicated ones
struct PackedTokens {
  Offsets offsets;      // sequences + 1
  Tensor tokens;        // i32[count()]
  RowIds ids;           // sequence and position of each replicated token
  RowIds residual_ids;  // of each token of the residual stream here (see TensorParallel::shard_token_ids)
  int64_t count() const { return offsets.empty() ? 0 : offsets.back(); }
  int64_t sequences() const { return offsets.empty() ? 0 : static_cast<int64_t>(offsets.size()) - 1; }
};

// Copies host tokens to the device. `sequence_ids` are the dropout coordinate of each sequence (absent: 0, 1, ...);
// `first_position` the position of each sequence's first token (absent: 0; decoding continues later).
PackedTokens pack_tokens(Context& context, std::span<const int32_t> tokens, std::span<const int32_t> offsets,
                         std::span<const int64_t> sequence_ids, std::span<const int32_t> first_position = {});

}  // namespace weft
