// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/files.h"
#include "launch/command_line/command.h"

// The output of `weft inspect` on standard output.
namespace weft {

void print_checkpoint(const fs::path& path, bool verify, bool with_job);
// Prints the newest checkpoint of a run or of a folder of checkpoints; of any other directory, what it holds.
void print_directory(const fs::path& path, bool verify, bool with_job);
void print_tokenizer(const fs::path& path);
// Throws DataError with every finding if the dataset is damaged.
void print_verified(const fs::path& dataset);

struct StatisticsOptions {
  bool wanted = false, json = false;
  int64_t frequent = 10;  // tokens listed of each side
  std::string out;        // the page to write; empty: none
};
// Adds --statistics, which excludes the option `show`, and the options of its own.
void add_statistics_options(Command& command, StatisticsOptions& options, Option show);
// What the texts of each split are like: their lengths, and which tokens they consist of. A page is written instead, or
// besides JSON. DataError if its name is taken.
void print_statistics(const fs::path& dataset, const StatisticsOptions& options);

}  // namespace weft
