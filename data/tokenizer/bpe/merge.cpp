// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/bpe/merge.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"

namespace weft {

namespace {
constexpr size_t kShort = 48;  // symbols; above it the heap is faster
}

uint32_t positions_of(size_t symbols) {
  if (symbols < UINT32_MAX) return static_cast<uint32_t>(symbols);
  throw DataError(fmt::format("a pretoken of {} bytes is longer than the {} that are merged", symbols, UINT32_MAX - 1),
                  "cut the text into documents, or choose a pattern that cuts it");
}

MergeTable::MergeTable(const std::vector<BpeMerge>& merges, bool rank_is_id) {
  const size_t size = std::bit_ceil(merges.size() * 2 + 2);
  entries_.assign(size, Entry{kFree, 0, 0});
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right, id] = merges[rank];
    const uint64_t key = key_of(left, right);
    size_t i = slot(key);
    while (entries_[i].key != kFree && entries_[i].key != key) i = (i + 1) & mask_;
    entries_[i] = {key, static_cast<uint32_t>(rank_is_id ? static_cast<size_t>(id) : rank), id};
  }
}

void PretokenMerger::merge(const MergeTable& pairs, std::vector<int32_t>& symbols) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort) {
    merge_short(pairs, symbols);
  } else {
    merge_long(pairs, symbols);
  }
}

void PretokenMerger::merge_short(const MergeTable& pairs, std::vector<int32_t>& symbols) {
  size_t count = symbols.size();
  found_.resize(count);
  for (size_t i = 0; i + 1 < count; ++i) found_[i] = pairs.find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (found_[i].rank < found_[best].rank) best = i;
    }
    if (found_[best].rank == MergeTable::kNever) break;
    symbols[best] = found_[best].id;
    std::copy(symbols.begin() + best + 2, symbols.begin() + count, symbols.begin() + best + 1);
    std::copy(found_.begin() + best + 2, found_.begin() + count, found_.begin() + best + 1);
    --count;
    if (best + 1 < count) found_[best] = pairs.find(symbols[best], symbols[best + 1]);
    if (best > 0) found_[best - 1] = pairs.find(symbols[best - 1], symbols[best]);
  }
  symbols.resize(count);
}

// Offers the pair that now begins at `position`; earlier offers at this position become stale.
void PretokenMerger::offer(const MergeTable& pairs, const std::vector<int32_t>& symbols, uint32_t position) {
  const uint32_t next = next_[position];
  found_[position] = next < symbols.size() ? pairs.find(symbols[position], symbols[next]) : MergeTable::Found{};
  if (found_[position].rank == MergeTable::kNever) return;
  heap_.push_back({found_[position].rank, position});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

void PretokenMerger::merge_long(const MergeTable& pairs, std::vector<int32_t>& symbols) {
  const uint32_t count = positions_of(symbols.size());
  constexpr uint32_t kNone = UINT32_MAX;
  found_.resize(count);
  next_.resize(count);
  previous_.resize(count);
  heap_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    next_[i] = i + 1;
    previous_[i] = i == 0 ? kNone : i - 1;
  }
  for (uint32_t i = 0; i < count; ++i) offer(pairs, symbols, i);
  while (!heap_.empty()) {
    const Candidate top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heap_.pop_back();
    if (found_[top.position].rank != top.rank) continue;  // stale: the symbol was merged, or its neighbour changed
    const uint32_t gone = next_[top.position];
    symbols[top.position] = found_[top.position].id;
    found_[gone] = {};
    next_[top.position] = next_[gone];
    if (next_[gone] < count) previous_[next_[gone]] = top.position;
    offer(pairs, symbols, top.position);
    if (previous_[top.position] != kNone) offer(pairs, symbols, previous_[top.position]);
  }
  size_t kept = 0;
  for (uint32_t i = 0; i < count; i = next_[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace weft
