#pragma once
#include "kernels/context.h"
#include "parallel/parameter.h"

namespace weft {

// The output projection with cross-entropy, as one operation: logits = hidden W^T + b, loss of every row.
// It walks the rows in chunks, so that at most `chunk_bytes` of logits exist at a time, and where gradients are asked
// for it makes them chunk by chunk in the same pass: the divisor of the loss is known before the forward starts.
struct OutputLoss {
  Tensor hidden;         // [rows, width], compute dtype
  Tensor weight;         // [vocabulary, width], compute dtype
  Tensor bias;           // [vocabulary] or absent
  Tensor targets;        // i32[rows]; < 0 counts for nothing
  double smoothing = 0;  // label smoothing, in [0, 1)
  double scale = 1;      // of the gradients: 1 / (valid target tokens of the step)
  Tensor loss;           // accumulator dtype [rows], written, unscaled, in nats
  Tensor nll;            // accumulator dtype [rows], written: -log p(target) without smoothing; or absent
  Tensor dhidden;        // [rows, width], written; absent: no gradients at all
  Tensor dweight;        // accumulator dtype
  Accumulate dweight_mode = Accumulate::Add;
  Tensor dbias;  // accumulator dtype, or absent
  Accumulate dbias_mode = Accumulate::Add;
  int64_t chunk_bytes = int64_t{128} << 20;
};
void output_loss(Context& context, const OutputLoss& args);

}  // namespace weft
