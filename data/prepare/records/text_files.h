// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "data/prepare/config.h"
#include "data/text/text_file.h"

namespace weft {

// The files of a split, patterns resolved, in the order in which they are read.
struct TextFiles {
  std::vector<TextFile> source;  // or all files, for formats with one file a record
  std::vector<TextFile> target;  // format parallel: one for each source file
};

// DataError if a name matches nothing, ConfigError if the two sides have different numbers of files.
TextFiles resolve_files(const SplitFiles& files, TextFormat format);
// Bytes of all files on disk.
uint64_t total_bytes(const TextFiles& files);

}  // namespace weft
