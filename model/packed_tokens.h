// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>

#include "kernels/ops/sequences.h"
#include "kernels/step_state.h"

namespace weft {

// Sequences laid end to end without padding: every token is a row of the model's activations. A tensor over them
// holds
//   replicated tokens        all of them, the same on every tp rank; products and attention read these
//   sequence-sharded tokens  with sequence parallelism this tp rank's part of them, which the residual stream holds,
//                            all parts equally long (the last tokens are padding); without it the replicated tokens
// One PackedTokens is made for each micro-batch, and all layers share it.
struct PackedTokens {
  // The dropout id and position of every row; by_position, the rows sorted by position, is absent without a backward.
  struct Rows {
    RowIds ids;
    Tensor by_position;  // i32[rows]
  };
  SharedOffsets offsets;
  Tensor tokens;          // i32[count()]
  Tensor by_token;        // i32[count()]: rows sorted by token, then by row; absent if there is no backward
  Tensor last;            // i32[sequences()]: the last row of each sequence
  Rows replicated;        // all tokens
  Rows residual;          // the tokens of the residual stream on this rank
  int32_t positions = 0;  // more than any token's position
  int64_t count() const { return offsets->rows(); }
  int64_t sequences() const { return offsets->sequences(); }
};
using Tokens = std::shared_ptr<const PackedTokens>;

struct TokenInputs {
  std::span<const int32_t> tokens;
  std::span<const int32_t> offsets;              // sequences + 1
  std::span<const int64_t> sequence_ids = {};    // dropout coordinate of each sequence; empty: 0, 1, ...
  std::span<const int32_t> first_position = {};  // position of each sequence's first token; empty: 0
};

// The tokens of the residual stream that this tp rank holds; by default all of them (TensorParallel::residual_part).
struct ResidualPart {
  int rank = 0;
  int ranks = 1;
  int64_t tokens(int64_t count) const { return (count + ranks - 1) / ranks; }  // padding included
};

enum class TokenUse : uint8_t { Forward, Backward };

// The arrays of PackedTokens in one piece. Its size is known before they are filled, so that memory can be allocated
// and work queued that overlaps the upload. The data that `inputs` refers to must outlive this.
class TokenPacking {
 public:
  TokenPacking(const TokenInputs& inputs, TokenUse use, const ResidualPart& part);
  int64_t elements() const { return elements_; }  // i32
  // Fills `host`, which the caller uploads to `device`, i32[elements()] both; the tokens' tensors are parts of
  // `device`.
  Tokens pack(std::span<int32_t> host, const Tensor& device) const;

 private:
  TokenInputs inputs_;
  TokenUse use_;
  ResidualPart part_;
  int64_t elements_ = 0;
};

// Packs and uploads in one call.
Tokens pack_tokens(Context& context, const TokenInputs& inputs, TokenUse use = TokenUse::Forward,
                   const ResidualPart& part = {});

}  // namespace weft
