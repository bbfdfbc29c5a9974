// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/prepare/config.h"
#include "data/prepare/records/text_blocks.h"
#include "data/text/bad_records.h"

namespace weft {

// A document, a pair of sentences or a prompt and its answer, and where it begins.
struct TextRecord {
  std::string source;  // or the document
  std::string target;  // pairs only
  std::shared_ptr<const fs::path> file;
  std::shared_ptr<const fs::path> target_file;  // format parallel; else equal to file
  int64_t line = 0;                             // from 1
  bool on_one_line = false;                     // of the file, whatever line ends its text holds
  bool begins = true;                           // false for a part that goes on from the record before
  bool ends = true;                             // false for a part of a document that goes on elsewhere
};

struct ParsedBlock {
  std::vector<TextRecord> records;
  BadRecords bad;
  uint64_t consumed = 0;  // as the block's
};

// The records of a block. Rules:
//  - A line ends at '\n', and a '\r' before it goes too, in parallel, tsv, jsonl and document_delimiter: line.
//    Elsewhere line ends stay as they are.
//  - document_delimiter: file: the whole file, byte for byte. blank_line: runs of lines between lines of nothing but
//    spaces and tabs, the last line end left out. line: each line. separator: what lies between two of them, byte for
//    byte. Empty documents are no documents.
//  - jsonl: lines of white space are skipped; a line that is no object with a string in the chosen field is a bad
//    record (data/text/json_fields.h says what passes).
//  - prompt_answer: the same with two fields.
//  - parallel: line n of a file is the translation of line n of its partner. tsv: nothing is quoted; further columns
//    are ignored, fewer are a bad record; an empty line is a pair without text.
//  - A record with a NUL byte is a bad one: this is no text, or UTF-16.
// Thread-safe.
class BlockParser {
 public:
  explicit BlockParser(const DataConfig& config);
  ~BlockParser();
  // BadRecordError, with file and line, where bad records are not to be skipped.
  ParsedBlock parse(const TextBlock& block) const;

  class Rule;

 private:
  std::unique_ptr<const Rule> rule_;
  bool skip_bad_;
};

// "FILE:LINE" of a byte of the record's text, for messages.
std::string place_of(const TextRecord& record, bool target, size_t offset);

}  // namespace weft
