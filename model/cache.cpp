// SPDX-License-Identifier: Apache-2.0
#include "model/cache.h"

#include <algorithm>

#include "base/divide_up.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/elementwise.h"

namespace weft {
namespace {

// A prompt is fed to rings in pieces of so many tokens: long ones make good products, short ones small rings.
constexpr int64_t kPiece = 256;

int64_t ring_of(int64_t window) { return divide_up(window - 1 + kPiece, kRingBlock) * kRingBlock; }

}  // namespace

KeyValueCache::KeyValueCache(Context& context, std::span<const int64_t> windows, int64_t slots, int64_t capacity,
                             int64_t kv_width, DType dtype)
    : context_(context), capacity_(capacity), most_fed_(capacity) {
  for (const int64_t window : windows) {
    const bool ring = window > 0 && ring_of(window) < capacity;
    if (ring) most_fed_ = kPiece;
    self_.push_back(context.empty({slots, ring ? ring_of(window) : capacity, kv_width}, dtype));
  }
  for (int64_t s = slots - 1; s >= 0; --s) free_.push_back(static_cast<int32_t>(s));
}

void KeyValueCache::make_memory(int64_t sources, int64_t longest) {
  for (const Tensor& self : self_) memory_.push_back(context_.zeros({sources, longest, self.size(2)}, self.dtype()));
  lengths_.assign(static_cast<size_t>(sources), 0);
}

void KeyValueCache::add_rows(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    slots_.push_back(take_slot());
    past_.push_back(0);
    sources_.push_back(0);
  }
  self_rows_ = nullptr;
}

std::vector<int32_t> KeyValueCache::add_rows(std::span<const int32_t> source_lengths) {
  std::vector<bool> used(lengths_.size(), false);
  for (const int32_t s : sources_) used[s] = true;
  std::vector<int32_t> places;
  for (size_t place = 0; place < used.size() && places.size() < source_lengths.size(); ++place) {
    if (!used[place]) places.push_back(static_cast<int32_t>(place));
  }
  require<InternalError>(places.size() == source_lengths.size(), "cache: {} more sources do not fit {} places",
                         source_lengths.size(), lengths_.size());
  const size_t first = sources_.size();
  add_rows(static_cast<int64_t>(places.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    lengths_[places[i]] = source_lengths[i];
    sources_[first + i] = places[i];
  }
  memory_rows_ = nullptr;
  return places;
}

int32_t KeyValueCache::take_slot() {
  require<InternalError>(!free_.empty(), "cache: more rows than its {} slots", slots_.size());
  const int32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

const SharedCacheRows& KeyValueCache::self_rows() {
  if (!self_rows_) self_rows_ = share_cache_rows(context_, slots_, past_);
  return self_rows_;
}

const SharedCacheRows& KeyValueCache::memory_rows() {
  if (memory_rows_) return memory_rows_;
  std::vector<int32_t> lengths;
  for (const int32_t s : sources_) lengths.push_back(lengths_[s]);
  memory_rows_ = share_cache_rows(context_, sources_, std::move(lengths));
  return memory_rows_;
}

void KeyValueCache::advance(std::span<const int32_t> offsets) {
  for (size_t r = 0; r < past_.size(); ++r) past_[r] += offsets[r + 1] - offsets[r];
  self_rows_ = nullptr;
}

void KeyValueCache::clear(int32_t row) {
  past_.at(static_cast<size_t>(row)) = 0;
  self_rows_ = nullptr;
}

void KeyValueCache::reorder(std::span<const int32_t> parents) {
  std::vector<int32_t> uses(slots_.size(), 0);
  for (const int32_t p : parents) {
    require<InternalError>(p >= 0 && p < rows(), "cache: parent {} of {} rows", p, rows());
    uses[p] += 1;
  }
  for (size_t r = 0; r < uses.size(); ++r) {
    if (uses[r] == 0) free_.push_back(slots_[r]);
  }
  std::vector<int32_t> slots, past, sources;
  std::vector<bool> kept(slots_.size(), false);
  for (const int32_t p : parents) {
    int32_t slot = slots_[p];
    if (kept[p]) {
      slot = take_slot();
      copy_slot(slots_[p], slot, past_[p]);
    }
    kept[p] = true;
    slots.push_back(slot), past.push_back(past_[p]), sources.push_back(sources_[p]);
  }
  if (sources != sources_) memory_rows_ = nullptr;
  self_rows_ = nullptr;
  slots_ = std::move(slots), past_ = std::move(past), sources_ = std::move(sources);
}

void KeyValueCache::copy_slot(int32_t from, int32_t to, int32_t positions) {
  if (positions == 0) return;
  for (const Tensor& layer : self_) {
    const int64_t held = std::min<int64_t>(positions, layer.size(1));
    const auto used = [&](int32_t slot) { return layer.slice(slot, slot + 1).flat(0, {held, layer.size(2)}); };
    convert(context_, used(from), used(to));
  }
}

}  // namespace weft
