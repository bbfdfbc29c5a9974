// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/vector.cuh"
#include "kernels/ops/attention.h"

namespace weft::cuda {

constexpr int64_t kMaxHeadDim = 256;

// Where the heads lie in the rows of a packed QKV tensor, or of a Q tensor and a packed KV tensor (either may be absent
// if nothing reads it). Strides are in elements.
template <class T>
struct HeadRows {
  T* queries = nullptr;
  T* keys = nullptr;
  int64_t query_row = 0, key_row = 0;  // elements from one row to the next
  int query_group = 0, key_group = 0;  // elements from one key/value head to the next
  int width = 0;                       // head_dim

  HeadRows() = default;
  HeadRows(const Tensor& qkv, const Tensor& q, const Tensor& kv, const AttentionHeads& heads)
      : width(static_cast<int>(heads.head_dim)) {
    using Element = std::remove_const_t<T>;
    const int own = static_cast<int>(heads.queries) * width;
    if (qkv) {
      query_group = key_group = own + 2 * width;
      queries = elements_of<Element>(qkv);
      keys = queries + own;
    } else {
      query_group = own, key_group = 2 * width;
      queries = elements_of<Element>(q);
      keys = elements_of<Element>(kv);
    }
    query_row = heads.kv_heads * query_group, key_row = heads.kv_heads * key_group;
  }
  __device__ T* query(int64_t row, int group, int query) const {
    return queries + row * query_row + group * query_group + query * width;
  }
  __device__ T* key(int64_t row, int group) const { return keys + row * key_row + group * key_group; }
  __device__ T* value(int64_t row, int group) const { return key(row, group) + width; }
};

// Whether every row of every head begins on a multiple of 16 bytes. Each pointer is a tensor's, or null.
template <class T, class... Pointers>
bool vectorised_heads(const AttentionHeads& heads, const Pointers*... tensors) {
  return (vectorised(tensors, heads.head_dim) && ...);
}

// Returns the last of the sequences s, at least one, with begin(s) <= at; begin rises from 0.
template <class Begin>
__device__ int last_sequence(int sequences, int64_t at, Begin begin) {
  int first = 0, last = sequences;  // the result is in [first, last)
  while (last - first > 1) {
    const int middle = (first + last) / 2;
    (begin(middle) <= at ? first : last) = middle;
  }
  return first;
}

// Rows of sequences laid end to end, cut into tiles of `size` that hold rows of one sequence alone. The tiles of
// sequence s begin at offsets[s] / size + s, which leaves room for all of them: so a kernel's grid follows from the
// number of rows and of sequences, and a block finds its tile by itself. A tile may be empty.
constexpr int64_t tiles_of(int64_t rows, int64_t sequences, int64_t size) { return rows / size + sequences; }

struct SequenceTile {
  int sequence = 0;
  int64_t row = 0;  // number of the sequence's first row
  int begin = 0;    // the tile's first position in the sequence
  int length = 0;   // the sequence's length

  // `repeat`: how often each row counts, in `begin` and `length` too.
  __device__ SequenceTile(const int32_t* offsets, int sequences, int64_t tile, int size, int repeat = 1) {
    const auto first_tile = [&](int s) { return int64_t{offsets[s]} * repeat / size + s; };
    sequence = last_sequence(sequences, tile, first_tile);
    row = offsets[sequence];
    length = static_cast<int>(offsets[sequence + 1] - row) * repeat;
    begin = static_cast<int>(tile - first_tile(sequence)) * size;
  }
  __device__ bool empty() const { return begin >= length; }
};

// Calls f.template operator()<kWidth>() with the columns that a head occupies in shared memory and registers.
template <class F>
void with_head_width(int64_t head_dim, F&& f) {
  require<ConfigError>(head_dim <= kMaxHeadDim, "attention on CUDA devices takes heads of up to {} columns, not {}",
                       kMaxHeadDim, head_dim);
  if (head_dim <= 32) return f.template operator()<32>();
  if (head_dim <= 64) return f.template operator()<64>();
  if (head_dim <= 128) return f.template operator()<128>();
  return f.template operator()<256>();
}

// log2(e). Kernels multiply scores with it, so that a weight is a power of 2.
constexpr float kLog2E = 1.44269504088896340736f;

inline float attention_scale(double scale) {
  require<InternalError>(scale > 0, "attention on CUDA devices takes scales above 0, not {}", scale);
  return static_cast<float>(scale);
}

}  // namespace weft::cuda
