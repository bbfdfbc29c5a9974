// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/dataset/manifest.h"
#include "data/prepare/text_job.h"

namespace weft {

struct PrepareProgress {
  std::string_view phase;
  uint64_t done_bytes = 0;                        // bytes of the input files that were read, as they lie on disk
  uint64_t total_bytes = 0;                       // 0: unknown, for example while merges are chosen
  double seconds = 0;                             // seconds since this phase began
  double bytes_per_second = 0, seconds_left = 0;  // at the pace of the last 60 s (Pace)

  double fraction() const { return total_bytes == 0 ? 0 : double(done_bytes) / double(total_bytes); }
};

class EncodingRanks;

struct PrepareOptions {
  int threads = 1;                       // threads that tokenise; the output does not depend on it
  bool force = false;                    // replace a dataset made of other text or with other settings
  const EncodingRanks* ranks = nullptr;  // the other ranks serve(); the output does not depend on them
  // Called a few times a second from the calling thread, and at the end of each phase.
  std::function<void(const PrepareProgress&)> progress;
};

struct PrepareReport {
  bool already_prepared = false;  // the directory held this very dataset: nothing was written
  std::string not_compared;       // why the text of a prepared dataset cannot be compared; empty if it was
  int64_t resumed = 0;            // records, or pieces of long ones, that an earlier run encoded
  std::string replaced;           // why an earlier dataset was replaced; empty: there was none
  fs::path directory;
  Manifest manifest;
  std::vector<uint64_t> shares;  // bytes of text that each rank encoded
  double seconds = 0;
};

// Prepares text as a directory that Dataset::open() reads: tokenizer.json (or source- and target-tokenizer.json),
// shards, and dataset.json last. With `target_tokenizer` the target language has a separate tokenizer; without it, one
// tokenizer is learnt from both sides together. Tokenizers learn from the training split alone.
//
// If the directory already holds a dataset of the same settings and the same text (by sizes and times, or else by
// checksums), returns at once; also if the text is unavailable and the settings, including the names of files, are
// the same. Another dataset in the directory is a DataError unless forced. However the work ends, readers find the old
// dataset, the new one, or no dataset, never a part of one. ConfigError and DataError state the fault of settings or
// text, with file and line.
PrepareReport prepare(const TextJob& job, const PrepareOptions& options = {});

// The first setting that differs from those a dataset was made with, as "data.KEY was "A" and is now "B""; empty if
// none differs. A key at its default equals an absent key; keys that change no id (shard_tokens,
// max_unknown_fraction) may differ, and a tokenizer's file may lie elsewhere if it holds the same tokenizer. DataError
// if the dataset's manifest cannot be read.
std::string prepared_otherwise(const fs::path& directory, const TextJob& job);

// Throws the errors of prepare() that are known before much of the text is read: the settings contradict each other, a
// file is missing or unreadable, a tokenizer does not load or lacks a special that sequences need, the first record of
// a split is bad. Pipes are not read.
void check_preparation(const TextJob& job);

// Describes in one line the memory that prepare() needs at most, and the settings that bound it.
std::string describe_memory(const TextJob& job, int threads);

// A few lines for the console: per split, records, tokens, dropped and truncated, unk rate, entropy; the records left
// out.
std::string describe(const PrepareReport& report);

}  // namespace weft
