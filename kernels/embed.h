#pragma once
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// y[r] = dropout(scale * table[token[r] - first_token] + positions[position[r]]).
// A token outside [first_token, first_token + table rows) contributes 0: a vocabulary-parallel shard (sum over tp
// completes it; positions and dropout are then left to `add_positions`).
struct EmbedForward {
  Tensor tokens;  // i32[rows]
  Tensor table;   // [vocabulary shard, width], compute dtype
  int64_t first_token = 0;
  double scale = 1;
  Tensor positions;  // [max positions, width], compute dtype, or absent
  Dropout dropout;
  Tensor row_positions;  // i32[rows], if positions is present
  Tensor y;              // [rows, width]
};
void embed_forward(Context& context, const EmbedForward& args);

struct EmbedBackward {
  Tensor dy;
  Tensor tokens;
  int64_t first_token = 0;
  double scale = 1;
  Dropout dropout;
  Tensor row_positions;
  Tensor dtable;  // accumulator dtype, or absent
  Accumulate dtable_mode = Accumulate::Add;
  Tensor dpositions;  // accumulator dtype, or absent (sinusoidal)
  Accumulate dpositions_mode = Accumulate::Add;
};
void embed_backward(Context& context, const EmbedBackward& args);

// y[r] = dropout(scale * x[r] + positions[position[r]]): the second half of `embed`, if a projection or a sum over
// ranks stands between the two.
struct AddPositionsForward {
  Tensor x;
  double scale = 1;
  Tensor positions;  // or absent
  Tensor row_positions;
  Dropout dropout;
  Tensor y;
};
void add_positions_forward(Context& context, const AddPositionsForward& args);

struct AddPositionsBackward {
  Tensor dy;
  double scale = 1;
  Tensor row_positions;
  Dropout dropout;
  Tensor dx;
  Accumulate dx_mode = Accumulate::Overwrite;
  Tensor dpositions;  // or absent
  Accumulate dpositions_mode = Accumulate::Add;
};
void add_positions_backward(Context& context, const AddPositionsBackward& args);

// The constant table of "Attention is all you need" 3.5, [length, width], f32. Angle of pair i at position t:
// t / base^(2 i / width). Interleaved: (sin, cos, sin, ...); halves: all sines, then all cosines.
enum class SinusoidForm : uint8_t { Interleaved, Halves };
void fill_sinusoids(Tensor table, SinusoidForm form, double base);

}  // namespace weft
