// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/context.h"
#include "kernels/ops/sequences.h"

namespace weft {

// Keys and values of the sequences being decoded. A row (hypothesis) owns one slot of every layer's self tensor; the
// keys and values of the encoder's output are shared by all hypotheses of a source sentence.
class KeyValueCache {
 public:
  // Allocates room for `slots` rows of up to `capacity` positions; no row is alive yet. windows[l]: the keys that a
  // query of layer l sees, 0 for all. A layer that never looks back at all positions keeps a ring of the last ones.
  KeyValueCache(Context& context, std::span<const int64_t> windows, int64_t slots, int64_t capacity, int64_t kv_width,
                DType dtype);

  const Tensor& self(int layer) const { return self_[layer]; }
  const std::vector<int32_t>& slots() const { return slots_; }  // the slot of each alive row
  const std::vector<int32_t>& past() const { return past_; }    // positions held by each alive row
  int64_t rows() const { return static_cast<int64_t>(slots_.size()); }
  int64_t capacity() const { return capacity_; }
  // The most tokens that a row may be fed at once: more would overwrite in a ring what the first of them looks back at.
  int64_t most_fed() const { return most_fed_; }
  // Row r has been fed the tokens offsets[r] .. offsets[r + 1].
  void advance(std::span<const int32_t> offsets);

  // Row i continues what row parents[i] held. The first child of a parent keeps its slot, further children get a copy.
  void reorder(std::span<const int32_t> parents);

  // Row r holds nothing any more: what it is fed next begins at position 0. It keeps its slot and its source.
  void clear(int32_t row);

  // Appends `count` empty rows to the alive ones.
  void add_rows(int64_t count);
  // For cross-attention, allocates room for `sources` at once, each of up to `longest` positions. add_rows() then takes
  // the length of each new row's source and returns the source's place, an index into memory(layer) [places, longest,
  // kv_width], which the caller writes. A place is free again once no alive row translates its source.
  void make_memory(int64_t sources, int64_t longest);
  std::vector<int32_t> add_rows(std::span<const int32_t> source_lengths);
  const Tensor& memory(int layer) const { return memory_[layer]; }

  // Describe the alive rows to this step's attention over its own keys and values, and over the memory's. They are
  // uploaded when a layer first asks, and again only after the rows have changed.
  const SharedCacheRows& self_rows();
  const SharedCacheRows& memory_rows();

 private:
  int32_t take_slot();
  void copy_slot(int32_t from, int32_t to, int32_t positions);

  Context& context_;
  int64_t capacity_, most_fed_;
  std::vector<Tensor> self_, memory_;
  std::vector<int32_t> slots_, past_, free_;
  std::vector<int32_t> sources_, lengths_;
  SharedCacheRows self_rows_, memory_rows_;
};

}  // namespace weft
