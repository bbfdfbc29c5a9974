// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/duplicates.h"

#include <algorithm>

#include "base/hash.h"

namespace weft {

namespace {

constexpr int kIndexBits = 62;

DataSplit split_of(uint64_t place) { return static_cast<DataSplit>(place >> kIndexBits); }
int64_t index_of(uint64_t place) { return static_cast<int64_t>(place & ((uint64_t{1} << kIndexBits) - 1)); }

// The length keeps "a" | "b c" and "a b" | " c" apart.
uint64_t hash_of(const TextRecord& record) {
  std::string text = record.source;
  text.append(record.target).append(std::to_string(record.source.size()));
  return hash64(text);
}

}  // namespace

void Duplicates::add(DataSplit split, const TextRecord& record) {
  seen_.push_back({hash_of(record), uint64_t(split) << kIndexBits | seen_.size()});
}

void Duplicates::finish() {
  superfluous_.assign(seen_.size(), false);
  std::ranges::sort(seen_, {}, [](const Seen& s) { return std::pair(s.hash, s.place); });
  // Equal records are adjacent: training records first, in the order of the text.
  for (size_t begin = 0, end = 0; begin < seen_.size(); begin = end) {
    while (end < seen_.size() && seen_[end].hash == seen_[begin].hash) ++end;
    const bool trains = split_of(seen_[begin].place) == DataSplit::Train;
    const bool held_out = split_of(seen_[end - 1].place) != DataSplit::Train;
    for (size_t i = begin; i < end; ++i) {
      const DataSplit split = split_of(seen_[i].place);
      Counts& counts = counts_[static_cast<size_t>(split)];
      const bool repeated = i > begin && split_of(seen_[i - 1].place) == split;
      counts.repeated += repeated ? 1 : 0;
      if (split == DataSplit::Train) {
        superfluous_[static_cast<size_t>(index_of(seen_[i].place))] = repeated || held_out;
      } else {
        counts.in_train += trains ? 1 : 0;
      }
    }
  }
  seen_ = {};
}

}  // namespace weft
