// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/files.h"

// The output of `weft inspect` on standard output.
namespace weft {

void print_checkpoint(const fs::path& path, bool verify, bool with_job);
// Prints the newest checkpoint of a run or of a folder of checkpoints; of any other directory, what it holds.
void print_directory(const fs::path& path, bool verify, bool with_job);
void print_tokenizer(const fs::path& path);
// Throws DataError with every finding if the dataset is damaged.
void print_verified(const fs::path& dataset);

}  // namespace weft
