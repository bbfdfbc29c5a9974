#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/attention.h"

// The maths of kernels/attention.h on the CPU. T is the compute dtype; sums and scratch are of Accumulator<T>.
// Arguments have been checked. Every (sequence, key/value head) is computed by one thread, or its queries by several
// that share no sum: results do not depend on the number of threads.
namespace weft::cpu {

// Elements of the accumulator dtype that each thread needs.
int64_t attention_forward_scratch(const AttentionForward& args, DType dtype);
int64_t attention_backward_scratch(const AttentionBackward& args, DType dtype);
int64_t cached_attention_scratch(const CachedAttention& args, DType dtype);

template <class T>
void attention_forward(const AttentionForward& args, Accumulator<T>* scratch, int threads);
template <class T>
void attention_backward(const AttentionBackward& args, Accumulator<T>* scratch, int threads);
template <class T>
void cached_attention(const CachedAttention& args, Accumulator<T>* scratch, int threads);

}  // namespace weft::cpu
