// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/ops/activation.h"
#include "kernels/ops/weight_format.h"
#include "kernels/step_state.h"

namespace weft {

// A weight [out, in] packed: a copy in a backend's own layout, as products of few rows read it. f32 and bf16 weights
// may be packed in any format, f64 in its own alone.
struct PackedLayout {
  int64_t out = 0, in = 0;
  WeightFormat format = WeightFormat::Own;  // Own: of an f64 weight
  Tensor data;
};
using PackedWeight = std::shared_ptr<const PackedLayout>;
struct PackWeight {
  Tensor weight;  // [..., in], leading dims flattened
  WeightFormat format = WeightFormat::Own;
  Tensor data;  // written
};
PackedWeight pack_weight(Context& context, const Tensor& weight, WeightFormat format = WeightFormat::Own);

// y = dropout(act(x W^T + b)). Rows of x are tokens; weight is [out, in] (leading dims flattened into out).
// x, weight, bias, y, pre share the compute dtype (f32, bf16, f64). A plain product, without activation, dropout and
// `pre`, may leave y in the accumulator dtype, unrounded: logits, and parts of a sum that is rounded later.
// With `packed` the product is batch-invariant: a row's bits depend on that row and the weight alone, not on how many
// rows stand beside it nor on the number of threads. Then without dropout and `pre`.
struct LinearForward {
  Tensor x;             // [rows, in]
  Tensor weight;        // [..., in], elements = out * in
  PackedWeight packed;  // read in place of weight
  Tensor bias;          // [out] or absent
  Activation activation = Activation::None;
  Dropout dropout;  // after the activation
  Tensor y;         // [rows, out], written; compute dtype, or accumulator dtype
  Tensor pre;       // [rows, out], written with x W^T + b: the next product's input_pre, if a backward follows
};
void linear_forward(Context& context, const LinearForward& args);

// y = dropout(act(pre)): what linear_forward does with its product, for a sum of several products. pre and y may be the
// same memory.
struct Activate {
  Tensor pre;  // [rows, out]
  Activation activation = Activation::None;
  Dropout dropout;
  Tensor y;  // [rows, out], written
};
void activate(Context& context, const Activate& args);

// dx = dy W; dweight = dy^T x; dbias = column sums of dy.
// If x is what a product with activation and dropout made of input_pre, x = dropout(act(input_pre)), and nothing else
// reads it, dx can be the gradient of input_pre at once: dx = dropout'(dy W) act'(input_pre), with its column sums in
// input_dbias. The product that made input_pre then has no activation in its own backward. With Accumulate::Add, dx
// holds what x's other readers brought to dy W.
struct LinearBackward {
  Tensor dy;  // [rows, out]
  Tensor x;   // [rows, in]
  Tensor weight;
  Gradient dx;       // [rows, in] or absent
  Gradient dweight;  // accumulator dtype, [..., in], or absent
  Gradient dbias;    // accumulator dtype, [out], or absent
  // Of the product that made x. Any of them needs a dx.
  Activation input_activation = Activation::None;
  Tensor input_pre;  // [rows, in], if input_activation is not None
  Dropout input_dropout;
  Gradient input_dbias;  // accumulator dtype, [in], or absent
};
void linear_backward(Context& context, const LinearBackward& args);

}  // namespace weft
