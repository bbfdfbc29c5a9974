#pragma once
#include "kernels/embed.h"

// The maths of kernels/embed.h on the CPU; arguments have been checked, indices have not.
namespace weft::cpu {

// Whether every element lies in [0, end).
bool all_below(const Tensor& indices, int64_t end);

template <class A>
struct EmbedScratch {
  A* rows = nullptr;        // at least max(2, threads) rows of the tensors' width
  int64_t* keys = nullptr;  // backward: as many as there are rows
};

template <class T>
void embed_forward(const EmbedForward& args, const EmbedScratch<Accumulator<T>>& scratch, int threads);
template <class T>
void embed_backward(const EmbedBackward& args, const EmbedScratch<Accumulator<T>>& scratch, int threads);
template <class T>
void add_positions_forward(const AddPositionsForward& args, const EmbedScratch<Accumulator<T>>& scratch, int threads);
template <class T>
void add_positions_backward(const AddPositionsBackward& args, const EmbedScratch<Accumulator<T>>& scratch, int threads);

}  // namespace weft::cpu
