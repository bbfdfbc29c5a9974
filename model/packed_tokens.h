// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>

#include "kernels/ops/sequences.h"
#include "kernels/step_state.h"

namespace weft {

// Sequences laid end to end without padding, as the model sees them: every token is a row of activations. A tensor
// over them holds
//   replicated tokens        all of them, the same on every tp rank: what products and attention see
//   sequence-sharded tokens  with sequence parallelism, what the residual stream holds: this tp rank's part of them,
//                            all parts equally long (the last tokens are padding); without it, the replicated ones
// Made once for a micro-batch, where the ids are, and shared by everything that works on it.
struct PackedTokens {
  // Which row is which, and the rows in the order of their positions (absent if there is no backward).
  struct Rows {
    RowIds ids;
    Tensor by_position;  // i32[rows]
  };
  SharedOffsets offsets;
  Tensor tokens;          // i32[count()]
  Tensor by_token;        // i32[count()]: rows sorted by token, then by row; absent if there is no backward
  Tensor last;            // i32[sequences()]: the last row of each
  Rows replicated;        // of all tokens
  Rows residual;          // of the tokens of the residual stream here
  int32_t positions = 0;  // more than any token's position
  int64_t count() const { return offsets->rows(); }
  int64_t sequences() const { return offsets->sequences(); }
};
using Tokens = std::shared_ptr<const PackedTokens>;

struct TokenInputs {
  std::span<const int32_t> tokens;
  std::span<const int32_t> offsets;              // sequences + 1
  std::span<const int64_t> sequence_ids = {};    // dropout coordinate of each sequence; absent: 0, 1, ...
  std::span<const int32_t> first_position = {};  // of each sequence's first token; absent: 0 (decoding continues later)
};

// Of the tokens of the residual stream: this tp rank's part, all of them by default (TensorParallel::residual_part).
struct ResidualPart {
  int rank = 0;
  int ranks = 1;
  int64_t tokens(int64_t count) const { return (count + ranks - 1) / ranks; }  // padding included
};

enum class TokenUse : uint8_t { Forward, Backward };

// The arrays of tokens in one piece, whose size is known before they are made: so its memory can be taken, and work be
// queued that runs beside the upload. What `inputs` shows must stay.
class TokenPacking {
 public:
  TokenPacking(const TokenInputs& inputs, TokenUse use, const ResidualPart& part);
  int64_t elements() const { return elements_; }  // i32
  // Fills `host` with what `device` is to hold, i32[elements()] both; the tokens' tensors are parts of `device`.
  Tokens pack(std::span<int32_t> host, const Tensor& device) const;

 private:
  TokenInputs inputs_;
  TokenUse use_;
  ResidualPart part_;
  int64_t elements_ = 0;
};

// Uploads all of it at once.
Tokens pack_tokens(Context& context, const TokenInputs& inputs, TokenUse use = TokenUse::Forward,
                   const ResidualPart& part = {});

}  // namespace weft
