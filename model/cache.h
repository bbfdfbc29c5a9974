#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/context.h"
#include "kernels/sequences.h"

namespace weft {

// Keys and values of the sequences being decoded. A row (hypothesis) owns one slot of every layer's self tensor; the
// keys and values of the encoder's output are shared by all hypotheses of a source sentence.
class KeyValueCache {
 public:
  // `rows` alive rows, empty; room for `slots` >= rows after reorder().
  KeyValueCache(Context& context, int64_t layers, int64_t rows, int64_t slots, int64_t capacity, int64_t kv_width,
                DType dtype);

  const Tensor& self(int layer) const { return self_[layer]; }
  const std::vector<int32_t>& slots() const { return slots_; }  // of the alive rows
  const std::vector<int32_t>& past() const { return past_; }    // positions held by each alive row
  int64_t rows() const { return static_cast<int64_t>(slots_.size()); }
  int64_t capacity() const { return capacity_; }
  // Row r has been fed the tokens offsets[r] .. offsets[r + 1].
  void advance(std::span<const int32_t> offsets);

  // Row i continues what row parents[i] held. A parent that goes on once keeps its slot; further children get a copy.
  void reorder(std::span<const int32_t> parents);

  // Cross-attention: [sources, longest source, kv_width] per layer, and which source each row translates.
  void set_memory(std::vector<Tensor> keys_and_values, std::vector<int32_t> lengths);
  const Tensor& memory(int layer) const { return memory_[layer]; }

  // The alive rows as an attention of this step sees them, in its own keys and values and in the memory's: uploaded
  // when a layer first asks, and again only after the rows have changed.
  const SharedCacheRows& self_rows();
  const SharedCacheRows& memory_rows();

 private:
  void copy_slot(int32_t from, int32_t to, int32_t positions);

  Context& context_;
  int64_t capacity_;
  std::vector<Tensor> self_, memory_;
  std::vector<int32_t> slots_, past_, free_;
  std::vector<int32_t> sources_, lengths_;
  SharedCacheRows self_rows_, memory_rows_;
};

}  // namespace weft
