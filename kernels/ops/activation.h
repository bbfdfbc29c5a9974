// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "base/config/fields.h"
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

enum class Activation : uint8_t { None, Relu, Gelu, GeluTanh, Silu };

template <>
struct EnumNames<Activation> {
  static constexpr auto kNames = enum_names<Activation>("none", "relu", "gelu", "gelu_tanh", "silu");
};

// y = dropout(act(pre)), as linear_forward applies it to one product, for a sum of several products. pre and y may be
// the same memory.
struct Activate {
  Tensor pre;  // [rows, out]
  Activation activation = Activation::None;
  Dropout dropout;
  Tensor y;  // [rows, out], written
};
void activate(Context& context, const Activate& args);

// y = dropout(act(gate) * up), element by element: the hidden features of a gated feed-forward layer (Shazeer, "GLU
// variants improve transformer", 2020; SwiGLU if the activation is Silu, GeGLU if it is Gelu). One product makes both
// factors: a row of pre holds all gates, then all of what they gate.
struct GateForward {
  Tensor pre;  // [rows, 2 columns], compute dtype: gate, up
  Activation activation = Activation::None;
  Dropout dropout;  // its channels are y's columns
  Tensor y;         // [rows, columns], written
};
void gate_forward(Context& context, const GateForward& args);

// With d = dropout'(dy): dgate = d up act'(gate), dup = d act(gate).
struct GateBackward {
  Tensor dy;   // [rows, columns]
  Tensor pre;  // as forward read it
  Activation activation = Activation::None;
  Dropout dropout;
  Tensor dpre;  // [rows, 2 columns], overwritten; it may be pre itself
};
void gate_backward(Context& context, const GateBackward& args);

}  // namespace weft
