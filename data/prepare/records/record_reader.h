// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/prepare/config.h"
#include "data/prepare/records/text_files.h"
#include "data/text/bad_records.h"

namespace weft {

// A document, a pair of sentences, a prompt and its answer or a conversation, and where it begins.
struct TextRecord {
  std::string source;  // or the document, or the conversation as conversation_json() writes it
  std::string target;  // pairs only
  std::shared_ptr<const fs::path> file;
  std::shared_ptr<const fs::path> target_file;  // format parallel; equal to `file` for other formats
  int64_t line = 0;                             // line of the text's first byte, or row of a table, from 1
  bool on_one_line = false;                     // the record is one line of the file, whatever line ends its text holds
  bool begins = true;                           // false for a part that continues the record before
  bool ends = true;                             // false for a part of a document that continues in the next record
};

// "FILE:LINE" of a byte of the record's text, for messages.
std::string place_of(const TextRecord& record, bool target, size_t offset);
// The error with its place before it: "FILE:LINE: what".
BadRecordError placed(const BadRecordError& error, std::string_view place);
BadRecordError nul_error();
// BadRecordError with file and line if either side holds a NUL byte: its file is not text, or is UTF-16.
void refuse_nul(const TextRecord& record);

// The records of some files, one after another. Order, places and errors depend on the files alone. Bad records are
// passed to the BadRecords that the reader was opened with, before the records that follow them.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // False at the end. DataError that names the file if a file cannot be read.
  virtual bool next(TextRecord& record) = 0;
  virtual uint64_t consumed() const = 0;  // bytes read of the files, as they lie on disk
  // At the end: hash64 of each file as it lies on disk, all files of the source first; none if not all bytes are read.
  virtual std::vector<uint64_t> checksums() const = 0;
};

// The function that opens the reader of a format. `bad` outlives the reader, which may use `threads` to parse.
using RecordOpener = std::unique_ptr<RecordReader>(const DataConfig&, TextFiles, BadRecords& bad, int threads);
// Opens the reader of data.format.
RecordOpener open_records;

}  // namespace weft
