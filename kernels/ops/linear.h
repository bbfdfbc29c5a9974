// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/ops/activation.h"
#include "kernels/ops/weight_format.h"
#include "kernels/step_state.h"

namespace weft {

// A copy of a weight [out, in] in a backend's own layout, for products of few rows. f32 and bf16 weights can be packed
// in any format but Own, f64 weights in Own only.
struct PackedLayout {
  int64_t out = 0, in = 0;
  WeightFormat format = WeightFormat::Own;  // Own for f64 weights
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
// x, weight, bias, y, pre have the compute dtype (f32, bf16, f64). A plain product, without activation, dropout and
// `pre`, may write y in the accumulator dtype, unrounded: logits, and parts of a sum that is rounded later. With
// `packed` the product is batch-invariant: a row's bits depend on that row and the weight only, not on the number of
// rows or of threads. `packed` excludes dropout and `pre`.
struct LinearForward {
  Tensor x;             // [rows, in]
  Tensor weight;        // [..., in], elements = out * in
  PackedWeight packed;  // if present, read instead of weight
  Tensor bias;          // [out] or absent
  Activation activation = Activation::None;
  Dropout dropout;  // applied after the activation
  Tensor y;         // [rows, out], written; compute dtype, or accumulator dtype
  Tensor pre;       // [rows, out], written with x W^T + b: the next product's input_pre, if a backward follows
};
void linear_forward(Context& context, const LinearForward& args);

// dx = dy W; dweight = dy^T x; dbias = column sums of dy.
// If another product with activation and dropout made x = dropout(act(input_pre)), dx can be the gradient of input_pre
// at once: dx = dropout'(dy W) act'(input_pre), with its column sums in input_dbias. The backward of that other product
// then has no activation. With Accumulate::Add, dx holds the contributions of x's other readers to dy W.
struct LinearBackward {
  Tensor dy;  // [rows, out]
  Tensor x;   // [rows, in]
  Tensor weight;
  Gradient dx;       // [rows, in] or absent
  Gradient dweight;  // accumulator dtype, [..., in], or absent
  Gradient dbias;    // accumulator dtype, [out], or absent
  // These describe the product that made x. Each of them needs a dx.
  Activation input_activation = Activation::None;
  Tensor input_pre;  // [rows, in], if input_activation is not None
  Dropout input_dropout;
  Gradient input_dbias;  // accumulator dtype, [in], or absent
};
void linear_backward(Context& context, const LinearBackward& args);
// Whether dx becomes the gradient of the input of x's activation or dropout, or of its bias.
bool has_producer(const LinearBackward& args);

}  // namespace weft
