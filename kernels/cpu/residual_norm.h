#pragma once
#include "kernels/residual_norm.h"

// The maths of kernels/residual_norm.h on the CPU; arguments have been checked.
namespace weft::cpu {

// Elements of the accumulator dtype: rows that each thread works in, and partial column sums.
int64_t residual_norm_forward_scratch(const ResidualNormForward& args, DType dtype, int threads);
int64_t residual_norm_backward_scratch(const ResidualNormBackward& args, const Tensor& any, int threads);

template <class T>
void residual_norm_forward(const ResidualNormForward& args, Accumulator<T>* scratch, int threads);
// `any`: a tensor of the rows' shape. Column sums are taken over fixed runs of rows, then over the runs in order: they
// do not depend on the number of threads.
template <class T>
void residual_norm_backward(const ResidualNormBackward& args, const Tensor& any, Accumulator<T>* scratch, int threads);

}  // namespace weft::cpu
