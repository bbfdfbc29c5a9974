// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/dataset/manifest.h"

namespace weft {

// Describes a prepared directory for `weft inspect`. Opens every split, so that damage to structure is an error.
std::string describe_dataset(const fs::path& directory);

// A few lines on each split: records, tokens, dropped and truncated records, unk rate, entropy.
std::string describe_splits(const Manifest& manifest);

struct ShownRecords {
  int64_t from = 0, count = 0;  // records of each split
  int64_t tokens = 0;           // tokens shown of each sequence at most; 0: all
};
// Documents or pairs of each split, numbered from 0, as text with specials visible and as ids.
std::string show_records(const fs::path& directory, const ShownRecords& shown);

// Re-reads every byte: checksums of all shards, every id against its vocabulary, every sequence, the tokenizers.
// Returns the damage found, one line each; empty if there is none. `tick` receives the bytes done and in total.
// Throws DataError only if there is no manifest to check against.
std::vector<std::string> verify_dataset(const fs::path& directory,
                                        const std::function<void(uint64_t, uint64_t)>& tick = {});

}  // namespace weft
