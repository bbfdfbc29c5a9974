// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/prepare/config.h"
#include "data/prepare/records/duplicates.h"
#include "data/prepare/records/record_reader.h"
#include "data/text/bad_records.h"

namespace weft {

// The size of the whole text, which splitting by position needs first.
struct CorpusSize {
  int64_t records = 0;
  int64_t characters = 0;  // code points
};

// The split of a record under rule hash: a function of seed and index alone.
DataSplit hashed_split(int64_t seed, int64_t index, double valid_fraction, double test_fraction);

// The numbers at which validation and test begin when `total` records or characters are cut by position: if one tenth
// validates, validation begins at floor(total * 0.9).
std::pair<int64_t, int64_t> position_cuts(int64_t total, double valid_fraction, double test_fraction);

// The number of characters, which are bytes that do not continue a UTF-8 sequence; the byte where the n-th begins.
int64_t count_characters(std::string_view text);
size_t byte_of_character(std::string_view text, int64_t n);

// A file that preparation reads, and the key of the job that names it: "data.train.files".
struct PrepareInput {
  std::string role;
  TextFile file;
};

// The files of each split as `config` names them.
BySplit<TextFiles> files_of_splits(const DataConfig& config);

// All text of a configuration, each record with its split, in an order that depends on the text alone.
class Corpus {
 public:
  // `files`: files_of_splits(). Copies pipes whole (text_file.h). `threads` threads parse; the records do not depend on
  // their number.
  Corpus(const DataConfig& config, BySplit<TextFiles> files, int threads = 1);

  bool has(DataSplit split) const;  // true if the split may hold records
  // True if a split holds more than one record. Reads no further than needed.
  bool holds_several();
  // Parses the beginning of each split, unless bad records are skipped: a field or a column that is missing would
  // otherwise be found after hours, when the training text is done. Files that are one document each are
  // not parsed.
  void check_beginnings();
  bool needs_size() const;  // split by position: measure() must come first
  // Reads all text once; `tick` is called now and then.
  void measure(const std::function<void(const Corpus&)>& tick);
  bool needs_comparison() const;  // duplicates are to be counted or dropped: find_duplicates() must come first
  void find_duplicates(const std::function<void(const Corpus&)>& tick);

  void rewind();
  // The next record, in several parts if the rule cuts it. False at the end; DataError there, if too many were bad.
  bool next(DataSplit& split, TextRecord& record);
  const SkippedRecords& skipped() const { return bad_.skipped(); }  // since rewind()
  int64_t dropped_duplicates() const { return dropped_; }           // since rewind()
  Duplicates::Counts duplicates(DataSplit split) const;
  uint64_t consumed() const;  // bytes of total_bytes() read since rewind()
  uint64_t total_bytes() const { return total_bytes_; }
  const std::vector<PrepareInput>& inputs() const { return inputs_; }  // every file, in order of reading
  // hash64 of each input as it lies on disk, once next() has returned false; none if the format skips some of the
  // bytes.
  const std::vector<uint64_t>& checksums() const { return checksums_; }

 private:
  DataSplit split_at(int64_t position) const;
  bool next_unsplit(DataSplit& split, TextRecord& record);
  bool next_undivided(DataSplit& split, TextRecord& record);
  void walk(const std::function<void(const Corpus&)>& tick, const std::function<bool()>& step);
  void cut(TextRecord&& record);

  std::unique_ptr<RecordReader> open(size_t files);
  void close_source();

  const DataConfig config_;
  const int threads_;
  BySplit<TextFiles> files_;
  std::vector<PrepareInput> inputs_;
  uint64_t total_bytes_ = 0;
  CorpusSize size_;
  bool measured_ = false;
  std::optional<Duplicates> duplicates_;
  BadRecords bad_;

  std::unique_ptr<RecordReader> source_;
  size_t reading_ = 0;  // index into files_ of source_
  uint64_t finished_ = 0;
  std::vector<uint64_t> checksums_;
  int64_t records_ = 0;                                  // good records that were read
  int64_t dropped_ = 0;                                  // training records among them that occur elsewhere
  int64_t position_ = 0;                                 // records or characters passed
  std::deque<std::pair<DataSplit, TextRecord>> pieces_;  // parts of a record that was cut
};

}  // namespace weft
