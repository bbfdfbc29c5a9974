// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "data/dataset/data_split.h"
#include "data/prepare/records/record_reader.h"

namespace weft {

// Finds records that are equal byte for byte, by their XXH3 of 64 bits: among a billion records the odds are 1 in 40
// that two different records are taken for equal. Held-out text stays whole; the training text loses what both hold.
// Memory: 16 bytes a record while records are collected, then one bit.
class Duplicates {
 public:
  struct Counts {
    int64_t repeated = 0;  // equal to an earlier record of the same split
    int64_t in_train = 0;  // held-out records that are equal to a training record
  };

  // Adds a record; the caller adds the records in the order in which they are read.
  void add(DataSplit split, const TextRecord& record);
  // Compares all records. Called after the last record was added.
  void finish();

  // Whether record `index` is a training record that is equal to an earlier one or to one that is held out.
  bool is_superfluous(int64_t index) const { return superfluous_[static_cast<size_t>(index)]; }
  const Counts& counts(DataSplit split) const { return counts_[static_cast<size_t>(split)]; }

 private:
  struct Seen {
    uint64_t hash;
    uint64_t place;  // split << 62 | index
  };
  std::vector<Seen> seen_;
  std::vector<bool> superfluous_;
  BySplit<Counts> counts_;
};

}  // namespace weft
