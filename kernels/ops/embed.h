// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// y[r] = dropout(scale * table[token[r] - first_token] + positions[position[r]]).
// A token outside [first_token, first_token + table rows) contributes 0: it belongs to another vocabulary-parallel
// shard. A sum over tp then completes y, and `add_positions` follows with positions and dropout.
struct EmbedForward {
  Tensor tokens;  // i32[rows]
  Tensor table;   // [vocabulary shard, width], compute dtype
  int64_t first_token = 0;
  double scale = 1;
  Tensor positions;  // [max positions, width], compute dtype, or absent
  Dropout dropout;
  Tensor row_positions;  // i32[rows], if positions is present: row numbers of positions, checked where they are made
  Tensor y;              // [rows, width]
};
void embed_forward(Context& context, const EmbedForward& args);

// Gradients of tables are sums over rows in ascending order, without atomics: by_token and by_position list the rows
// sorted by token and by position, then by row.
struct EmbedBackward {
  Tensor dy;
  Tensor tokens;
  Tensor by_token;  // i32[rows], if dtable is present
  int64_t first_token = 0;
  double scale = 1;
  Dropout dropout;
  Tensor row_positions;
  Tensor by_position;   // i32[rows], if dpositions is present
  Gradient dtable;      // accumulator dtype, or absent
  Gradient dpositions;  // accumulator dtype, or absent (sinusoidal)
};
void embed_backward(Context& context, const EmbedBackward& args);

// y[r] = dropout(scale * x[r] + positions[position[r]]): the second half of `embed`, for models with a projection or a
// sum over ranks between the two halves.
struct AddPositionsForward {
  Tensor x;
  double scale = 1;
  Tensor positions;  // may be absent
  Tensor row_positions;
  Dropout dropout;
  Tensor y;
};
void add_positions_forward(Context& context, const AddPositionsForward& args);

struct AddPositionsBackward {
  Tensor dy;
  double scale = 1;
  Tensor row_positions;
  Tensor by_position;  // i32[rows], if dpositions is present
  Dropout dropout;
  Tensor dx;            // overwritten
  Gradient dpositions;  // may be absent
};
void add_positions_backward(Context& context, const AddPositionsBackward& args);

// The constant table of sinusoidal positions, [length, width]. Position t, pair i and column c count from 0; w(e) is
// base^(-e / width).
//   Interleaved    sin(t w(2i)) in column 2i, cos(t w(2i)) in column 2i + 1 ("Attention is all you need", 3.5)
//   Halves         the same columns, all sines before all cosines (MarianMT)
//   HalvesFromOne  sin((t + 1) w(2i + 2)), then all cosines of the same angles: positions and pairs count from 1
//   PerColumn      sin(t w(c)) in even columns, cos(t w(c)) in odd ones: each column has a frequency of its own
enum class SinusoidForm : uint8_t { Interleaved, Halves, HalvesFromOne, PerColumn };
std::vector<float> sinusoids(int64_t length, int64_t width, SinusoidForm form, double base);

}  // namespace weft
