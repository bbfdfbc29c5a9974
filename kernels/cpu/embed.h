#pragma once
#include "kernels/embed.h"

// The maths of kernels/embed.h on the CPU; arguments have been checked, indices have not.
namespace weft::cpu {

// Whether every element lies in [0, end).
bool all_below(const Tensor& indices, int64_t end);

int64_t embed_scratch(int64_t width, int threads);  // elements of the accumulator dtype

template <class T>
void embed_forward(const EmbedForward& args, Accumulator<T>* scratch, int threads);
template <class T>
void embed_backward(const EmbedBackward& args, Accumulator<T>* scratch, int threads);
template <class T>
void add_positions_forward(const AddPositionsForward& args, Accumulator<T>* scratch, int threads);
template <class T>
void add_positions_backward(const AddPositionsBackward& args, Accumulator<T>* scratch, int threads);

}  // namespace weft::cpu
