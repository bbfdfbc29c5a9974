#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/prepare/bad_records.h"
#include "data/prepare/config.h"
#include "data/prepare/text_file.h"

namespace weft {

// A document, a pair of sentences or a prompt and its answer, and where it begins.
struct TextRecord {
  std::string source;  // or the document
  std::string target;  // pairs only
  std::shared_ptr<const fs::path> file;
  std::shared_ptr<const fs::path> target_file;  // format parallel; else equal to file
  int64_t line = 0;                             // from 1
  bool on_one_line = false;                     // of the file, whatever line ends its text holds
  bool ends = true;                             // false for a part of a document that goes on in another split
};

// Which files a split reads, globs resolved, in the order in which they are read.
struct TextFiles {
  std::vector<TextFile> source;  // or all files, for formats with one file a record
  std::vector<TextFile> target;  // format parallel: as many
};

// DataError if a name matches nothing, ConfigError if the two sides differ in number.
TextFiles resolve_files(const SplitFiles& files, TextFormat format);

// The records of some files, one after another. Rules:
//  - A line ends at '\n', and a '\r' before it goes too, in parallel, tsv, jsonl and document_delimiter: line.
//  Elsewhere line ends
//    stay as they are.
//  - document_delimiter: file: the whole file, byte for byte. blank_line: runs of lines between lines of nothing but
//  spaces and
//    tabs, the last line end left out. line: each line. separator: what lies between two of them, byte for byte.
//    Empty documents are no documents.
//  - jsonl: lines of white space are skipped; a line that is no object with a string in the chosen field is a bad
//  record
//    (json_fields.h says what passes).
//  - prompt_answer: the same with two fields.
//  - parallel: line n of a file is the translation of line n of its partner; unequal counts are a DataError that names
//    both. tsv: nothing is quoted; further columns are ignored, fewer are a bad record; an empty line is a pair without
//    text.
//  - A record with a NUL byte is a bad one: this is no text, or UTF-16.
// Of each file the first skip_lines lines are left out. Bad records are handed to `bad`. Errors name file and line.
class TextSource {
 public:
  virtual ~TextSource() = default;
  virtual bool next(TextRecord& record) = 0;
  virtual uint64_t consumed() const = 0;  // bytes on disk so far
};
std::unique_ptr<TextSource> open_text_source(const DataConfig& config, const TextFiles& files, BadRecords& bad);

// Bytes of all files on disk.
uint64_t total_bytes(const TextFiles& files);

// "FILE:LINE" of a byte of the record's text, for messages.
std::string place_of(const TextRecord& record, bool target, size_t offset);

}  // namespace weft
