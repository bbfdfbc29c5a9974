#pragma once
#include "kernels/activation.h"
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// A weight in a backend's own layout.
class PackedLayout {
 public:
  virtual ~PackedLayout() = default;
};
// A weight in the layout that the device's products with few rows read fastest (up to 64 rows: about twice as fast on
// CPUs), for a weight that many of them read between two changes of it: decoding. A copy, made by pack_weight(); null
// where there is no such layout.
using PackedWeight = std::shared_ptr<const PackedLayout>;
PackedWeight pack_weight(Context& context, const Tensor& weight);

// y = dropout(act(x W^T + b)). Rows of x are tokens; weight is [out, in] (leading dims flattened into out).
// x, weight, bias, y, pre share the compute dtype (f32, bf16, f64). A plain product, without activation, dropout and
// `pre`, may leave y in the accumulator dtype, unrounded: logits, and parts of a sum that is rounded later.
struct LinearForward {
  Tensor x;             // [rows, in]
  Tensor weight;        // [..., in], elements = out * in
  PackedWeight packed;  // weight, packed
  Tensor bias;          // [out] or absent
  Activation activation = Activation::None;
  Dropout dropout;  // after the activation
  Tensor y;         // [rows, out], written; compute dtype, or accumulator dtype
  Tensor pre;       // [rows, out], written with x W^T + b; needed if activation is not None and a backward follows
};
void linear_forward(Context& context, const LinearForward& args);

// d_pre = dropout'(dy) * act'(pre); dx = d_pre W; dweight = d_pre^T x; dbias = column sums of d_pre.
struct LinearBackward {
  Tensor dy;  // [rows, out]
  Tensor x;   // [rows, in]
  Tensor weight;
  Tensor pre;  // if activation is not None
  Activation activation = Activation::None;
  Dropout dropout;
  Tensor dx;  // [rows, in] or absent
  Accumulate dx_mode = Accumulate::Overwrite;
  Tensor dweight;  // accumulator dtype, [..., in], or absent
  Accumulate dweight_mode = Accumulate::Add;
  Tensor dbias;  // accumulator dtype, [out], or absent
  Accumulate dbias_mode = Accumulate::Add;
};
void linear_backward(Context& context, const LinearBackward& args);

}  // namespace weft
