// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "data/dataset/manifest.h"

namespace weft {

// "prepared/a, prepared/b": the directories of sources or parts, for messages.
template <class T>
std::string directory_names(const std::vector<T>& all) {
  std::string names;
  for (const T& one : all) names += (names.empty() ? "" : ", ") + one.directory.string();
  return names;
}

// One split of one directory, as its manifest states it.
struct SplitOfSource {
  DatasetSource source;
  Manifest manifest;
  const SplitEntry& entry(DataSplit split) const { return manifest.splits.at(split); }
};

// The split in each directory that has it, in the order of `sources`; `train` must be in every directory. DataError
// if no directory has the split, or if two cannot be read as one dataset: it names both and the difference.
std::vector<SplitOfSource> read_splits(const std::vector<DatasetSource>& sources, DataSplit split);

// The header of all sources together.
DatasetHeader header_of(const std::vector<SplitOfSource>& sources, DataSplit split);
std::vector<DatasetPart> parts_of(const std::vector<SplitOfSource>& sources, DataSplit split);

}  // namespace weft
