// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config/fields.h"
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// How a norm scales a row x, before gamma and beta.
//   Layer  (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon)    Ba et al., "Layer normalization", 2016
//   Rms    x / sqrt(mean(x^2) + epsilon)    Zhang and Sennrich, "Root mean square layer normalization", 2019
enum class NormKind : uint8_t { Layer, Rms };

template <>
struct EnumNames<NormKind> {
  static constexpr auto kNames = enum_names<NormKind>("layer", "rms");
};

// sum = residual + dropout(x + bias); normed = (sum - mean) * rstd * gamma + beta, where the mean is 0 if the kind is
// Rms. Each part is optional: without residual, bias and dropout it is a plain norm (`sum` is then x and need not be
// given); without `normed` it is a plain residual sum. Statistics take two passes in the accumulator dtype.
// With bias, dropout or residual, x may have the accumulator dtype: a sum over ranks is then rounded once, together
// with what is added. The other tensors, gradients included, keep the compute dtype.
struct ResidualNormForward {
  Tensor x;     // [rows, width]; compute dtype, or with `sum` accumulator dtype
  Tensor bias;  // [width] or absent: bias of the row-parallel product that made x
  Dropout dropout;
  Tensor residual;  // [rows, width] or absent
  Tensor gamma;     // [width], compute dtype; present if normed is
  Tensor beta;      // [width] or absent
  NormKind kind = NormKind::Layer;
  double epsilon = 1e-5;
  Tensor sum;     // [rows, width], compute dtype, written; or absent (plain norm)
  Tensor normed;  // [rows, width], written, or absent (plain residual sum)
  Tensor mean;    // accumulator dtype [rows], written if normed is; absent if the kind is Rms
  Tensor rstd;    // accumulator dtype [rows], written if normed is
};
void residual_norm_forward(Context& context, const ResidualNormForward& args);

// d_total = dsum + norm'(dnormed); dresidual = d_total; dx = dropout'(d_total); dbias = column sums of dx.
struct ResidualNormBackward {
  Tensor dsum;     // gradient of `sum` from its other readers (the residual stream), or absent
  Tensor dnormed;  // may be absent
  Tensor sum;      // as forward wrote it (x for a plain norm); needed if dnormed is present
  Tensor gamma, mean, rstd;
  NormKind kind = NormKind::Layer;
  Dropout dropout;
  Gradient dx;         // may be absent
  Gradient dresidual;  // may be absent, or the same memory as dsum (Overwrite)
  Gradient dbias;      // accumulator dtype, or absent
  Gradient dgamma;     // accumulator dtype, or absent
  Gradient dbeta;      // accumulator dtype, or absent
};
void residual_norm_backward(Context& context, const ResidualNormBackward& args);

}  // namespace weft
