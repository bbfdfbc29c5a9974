#pragma once
#include "kernels/cpu/matmul.h"
#include "kernels/linear.h"

namespace weft::cpu {

// packed: args.weight, packed, or nullptr.
void linear_forward(MatmulEngine& engine, const LinearForward& args, const PackedMatrix* packed, int threads);
// dpre [rows, out]: scratch if there is an activation or dropout. partial [threads, out], accumulator dtype: scratch
// if dbias is present.
void linear_backward(MatmulEngine& engine, const LinearBackward& args, const Tensor& dpre, const Tensor& partial,
                     int threads);

}  // namespace weft::cpu
