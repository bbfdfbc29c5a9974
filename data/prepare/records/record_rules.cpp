// SPDX-License-Identifier: Apache-2.0
// The formats of lines and documents. Rules:
//  - A line ends at '\n', and a '\r' before it is left out too, in parallel, tsv, jsonl and document_delimiter: line.
//    Elsewhere line ends stay as they are.
//  - document_delimiter: file: the whole file, byte for byte. blank_line: runs of lines between lines of nothing but
//    spaces and tabs, the last line end left out. line: each line. separator: the text between two separators, byte for
//    byte. An empty document does not count as one.
//  - jsonl: lines of white space are skipped; a line that is not an object with a string in the chosen field is a bad
//    record (data/text/json_fields.h says what passes). prompt_answer: two fields of the object.
//  - parallel: line n of a file is the translation of line n of its partner. tsv: nothing is quoted; further columns
//    are ignored, fewer are a bad record; an empty line is a pair without text.
//  - A record with a NUL byte is bad: its file is not text, or is UTF-16.
#include <algorithm>

#include "base/error.h"
#include "base/progress.h"
#include "data/prepare/records/block_reader.h"
#include "data/text/json_fields.h"

namespace weft {

namespace {

size_t whole_lines(std::string_view text) { return text.rfind('\n') + 1; }

// The bytes up to the end of the last blank line that has a line end.
size_t whole_paragraphs(std::string_view text) {
  size_t end = whole_lines(text);
  while (end > 0) {
    const size_t begin = whole_lines(text.substr(0, end - 1));
    if (is_blank_line(text.substr(begin, end - 1 - begin))) return end;
    end = begin;
  }
  return 0;
}

class WholeFiles : public RecordRule {
 public:
  size_t whole_records(std::string_view) const override { return 0; }
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    record.source = text.rest();
    record.line = text.line();
    return !record.source.empty();
  }
};

class Lines : public RecordRule {
 public:
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view line;
    while (text.next(line)) {
      strip_return(line);
      if (line.empty()) continue;
      record.source = line;
      record.line = text.line();
      return true;
    }
    return false;
  }
};

class Paragraphs : public RecordRule {
 public:
  size_t whole_records(std::string_view text) const override { return whole_paragraphs(text); }
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view line;
    while (text.next(line)) {
      if (is_blank_line(line)) {
        if (!record.source.empty()) break;
        continue;
      }
      if (record.source.empty()) {
        record.line = text.line();
      } else {
        record.source += '\n';
      }
      record.source += line;
    }
    if (record.source.ends_with('\r')) record.source.pop_back();
    return !record.source.empty();
  }
};

class Separated : public RecordRule {
 public:
  explicit Separated(std::string separator) : separator_(std::move(separator)) {}
  // Separators are searched from the beginning, since they may overlap.
  size_t whole_records(std::string_view text) const override {
    size_t end = 0;
    for (size_t at; (at = text.find(separator_, end)) != std::string_view::npos;) end = at + separator_.size();
    return end;
  }
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view document;
    while (text.next(document, separator_)) {
      if (document.empty()) continue;
      record.source = document;
      record.line = text.line();
      return true;
    }
    return false;
  }

 private:
  std::string separator_;
};

// Documents from one field, or prompts and answers from two.
class JsonLines : public RecordRule {
 public:
  explicit JsonLines(const DataConfig& config)
      : has_answer_(config.format == TextFormat::PromptAnswer),
        key_(has_answer_ ? "data.prompt_field" : "data.json_field"),
        field_(has_answer_ ? config.prompt_field : config.json_field),
        answer_(config.answer_field) {}

  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    const JsonField fields[] = {{key_, field_, &record.source}, {"data.answer_field", answer_, &record.target}};
    std::string_view line;
    while (next_json_line(text, record, line)) {
      read_json_fields(line, std::span(fields).first(has_answer_ ? 2 : 1));
      if (!record.source.empty() || has_answer_) return true;
    }
    return false;
  }

 private:
  bool has_answer_;
  const char* key_;
  std::string field_, answer_;
};

// Two columns of tab-separated lines.
class Columns : public RecordRule {
 public:
  Columns(int64_t source, int64_t target) : source_(source), target_(target) {}

  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view line;
    if (!text.next(line)) return false;
    strip_return(line);
    record.line = text.line();
    if (line.empty()) return true;  // a pair without text
    const int64_t needed = std::max(source_, target_);
    int64_t column = 0;
    for (size_t begin = 0; column < needed && begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      ++column;
      if (column == source_) record.source = line.substr(begin, end - begin);
      if (column == target_) record.target = line.substr(begin, end - begin);
      begin = end + 1;
    }
    if (column < needed) {
      throw BadRecordError(
          BadRecord::TooFewColumns,
          fmt::format("{}, but column {} is asked for", counted(column, "tab-separated column"), needed),
          "between columns stand tabs, not commas; data.source_column and data.target_column choose among them");
    }
    return true;
  }

 private:
  int64_t source_, target_;
};

class ParallelLines : public RecordRule {
 public:
  bool read(TextLines& text, TextLines& partner, TextRecord& record) const override {
    std::string_view source, target;
    if (!text.next(source) || !partner.next(target)) return false;
    strip_return(source), strip_return(target);
    record.source = source, record.target = target;
    record.line = text.line();
    return true;
  }
};

std::unique_ptr<const RecordRule> document_rule(const DataConfig& config) {
  switch (config.document_delimiter) {
    case DocumentDelimiter::File:
      return std::make_unique<WholeFiles>();
    case DocumentDelimiter::Line:
      return std::make_unique<Lines>();
    case DocumentDelimiter::BlankLine:
      return std::make_unique<Paragraphs>();
    case DocumentDelimiter::Separator:
      return std::make_unique<Separated>(config.separator);
  }
  throw InternalError("no such document rule");
}

}  // namespace

bool next_json_line(TextLines& text, TextRecord& record, std::string_view& line) {
  while (text.next(line)) {
    record.line = text.line();
    record.on_one_line = true;
    if (is_blank_line(line)) continue;
    if (line.find('\0') != std::string_view::npos) throw nul_error();
    return true;
  }
  return false;
}

size_t RecordRule::whole_records(std::string_view text) const { return whole_lines(text); }

std::unique_ptr<RecordReader> open_documents(const DataConfig& config, TextFiles files, BadRecords& bad, int threads) {
  return std::make_unique<BlockReader>(config, std::move(files), bad, threads, document_rule(config));
}

std::unique_ptr<RecordReader> open_json_lines(const DataConfig& config, TextFiles files, BadRecords& bad, int threads) {
  return std::make_unique<BlockReader>(config, std::move(files), bad, threads, std::make_unique<JsonLines>(config));
}

std::unique_ptr<RecordReader> open_parallel_lines(const DataConfig& config, TextFiles files, BadRecords& bad,
                                                  int threads) {
  return std::make_unique<BlockReader>(config, std::move(files), bad, threads, std::make_unique<ParallelLines>());
}

std::unique_ptr<RecordReader> open_tab_columns(const DataConfig& config, TextFiles files, BadRecords& bad,
                                               int threads) {
  return std::make_unique<BlockReader>(config, std::move(files), bad, threads,
                                       std::make_unique<Columns>(config.source_column, config.target_column));
}

}  // namespace weft
