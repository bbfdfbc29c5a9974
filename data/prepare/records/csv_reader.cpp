// SPDX-License-Identifier: Apache-2.0
// CSV (RFC 4180): fields between commas, records between line ends. A field that begins with a quote ends at the next
// quote, and may hold commas, line ends and doubled quotes; other fields hold no quote. The first record of a file
// names the columns, and every other record has as many fields. Rules of this reader:
//  - data.json_field names the column that holds the text; a record whose text is empty is not a document.
//  - Line ends are "\n" or "\r\n"; those inside quotes stay as they are. Empty lines are skipped.
//  - A record with too many or too few fields, a stray quote, or a NUL byte in its text is bad. The next record then
//    begins after the next line end.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "data/prepare/records/record_reader.h"
#include "data/text/text_input.h"

namespace weft {

namespace {

struct CsvField {
  std::string text;
  int64_t line = 0;  // line of the file where the field begins, from 1
};

// The records of one file as fields.
class CsvFile {
 public:
  // The first `skip_lines` lines stand before the names of the columns.
  CsvFile(const TextFile& file, int64_t skip_lines, int64_t most_bytes)
      : input_(file, most_bytes), most_record_bytes_(most_bytes) {
    std::string_view line;
    for (int64_t i = 0; i < skip_lines && input_.next_line(line); ++i) continue;
    line_ = input_.line() + 1;
  }

  // Reads a record; false at the end. BadRecordError with its place, after which the next record can be read.
  bool next(std::vector<CsvField>& fields) {
    while (!at_end()) {
      record_line_ = line_, record_bytes_ = 0;
      try {
        if (read_record(fields)) return true;
      } catch (const BadRecordError& error) {
        skip_line();
        throw placed(error, place(error_line_));
      }
    }
    return false;
  }
  int64_t record_line() const { return record_line_; }  // line where the last record begins
  std::string place(int64_t line) const { return fmt::format("{}:{}", input_.path().string(), line); }
  uint64_t consumed() const { return input_.consumed(); }
  uint64_t checksum() const { return input_.checksum(); }

 private:
  // True if nothing is left. If false, there is at least one byte at at_.
  bool at_end() {
    while (at_ == buffer_.size()) {
      buffer_.clear(), at_ = 0;
      if (!input_.read_some(buffer_)) return true;
    }
    return false;
  }
  bool sees(char c) { return !at_end() && buffer_[at_] == c; }
  bool take(char c) {
    if (!sees(c)) return false;
    ++at_;
    if (c == '\n') ++line_;
    return true;
  }
  // Moves bytes into `text` up to one of `ends`, or the end of the file.
  void take_until(std::string_view ends, std::string& text) {
    while (!at_end()) {
      const size_t end = std::min(buffer_.find_first_of(ends, at_), buffer_.size());
      line_ += std::count(buffer_.begin() + static_cast<ptrdiff_t>(at_), buffer_.begin() + static_cast<ptrdiff_t>(end),
                          '\n');
      text.append(buffer_, at_, end - at_);
      record_bytes_ += static_cast<int64_t>(end - at_);
      at_ = end;
      if (record_bytes_ > most_record_bytes_) throw too_long(input_.path(), record_line_, most_record_bytes_);
      if (end < buffer_.size()) return;
    }
  }
  void skip_line() {
    std::string rest;
    take_until("\n", rest);
    take('\n');
  }

  // Reads a record; false for an empty line.
  bool read_record(std::vector<CsvField>& fields) {
    size_t count = 0;
    bool quoted = false;
    do {
      if (fields.size() == count) fields.emplace_back();
      quoted = read_field(fields[count++]);
      record_bytes_ += sizeof(CsvField);  // a line of nothing but commas takes memory, too
    } while (take(','));
    fields.resize(count);
    take('\n');
    return count > 1 || quoted || !fields[0].text.empty();
  }

  // Reads a field; true if it is in quotes. The comma or line end after the field is not read.
  bool read_field(CsvField& field) {
    field.text.clear();
    field.line = error_line_ = line_;
    if (!take('"')) {
      take_until(",\n\"", field.text);
      error_line_ = line_;
      if (sees('"')) refuse("a quote inside a field that does not begin with one");
      if (!sees(',') && field.text.ends_with('\r')) field.text.pop_back();
      return false;
    }
    do {
      take_until("\"", field.text);
      if (!take('"')) refuse("a quote that is not closed before the end of the file");
    } while (sees('"') && (field.text += '"', take('"')));
    error_line_ = line_;
    const bool ends_line = take('\r');
    if (!at_end() && !sees('\n') && (ends_line || !sees(','))) refuse("text behind a closing quote");
    return true;
  }
  [[noreturn]] static void refuse(const char* what) {
    throw BadRecordError(BadRecord::Malformed, what,
                         "put a field with commas, quotes or line ends into quotes, and double the quotes inside it");
  }

  TextInput input_;
  int64_t most_record_bytes_, record_bytes_ = 0;
  std::string buffer_;
  size_t at_ = 0;
  int64_t line_ = 1;  // line of the byte at at_
  int64_t record_line_ = 1;
  int64_t error_line_ = 1;
};

class CsvReader : public RecordReader {
 public:
  CsvReader(const DataConfig& config, TextFiles files, BadRecords& bad)
      : files_(std::move(files.source)),
        column_name_(config.json_field),
        skip_lines_(config.skip_lines),
        most_record_bytes_(config.max_record_bytes),
        bad_(bad) {}

  bool next(TextRecord& record) override {
    while (file_ || open_file()) {
      try {
        if (!file_->next(fields_)) {
          close_file();
        } else if (take_document(record)) {
          return true;
        }
      } catch (const BadRecordError& error) {
        bad_.meet(error);
      }
    }
    return false;
  }
  uint64_t consumed() const override { return finished_ + (file_ ? file_->consumed() : 0); }
  std::vector<uint64_t> checksums() const override { return checksums_; }

 private:
  // Opens the next file with a record; false if none is left.
  bool open_file() {
    for (; checksums_.size() < files_.size(); close_file()) {
      const TextFile& file = files_[checksums_.size()];
      path_ = std::make_shared<const fs::path>(file.name());
      file_.emplace(file, skip_lines_, most_record_bytes_);
      if (read_header()) return true;
    }
    return false;
  }
  void close_file() {
    finished_ += files_[checksums_.size()].size();
    checksums_.push_back(file_->checksum());
    file_.reset();
  }

  // Finds the column. False for a file without any record. An error here concerns the whole file, so it is not a bad
  // record that could be skipped.
  bool read_header() {
    try {
      if (!file_->next(fields_)) return false;
      for (const CsvField& field : fields_) {
        if (field.text.find('\0') != std::string::npos) throw placed(nul_error(), file_->place(field.line));
      }
    } catch (const BadRecordError& error) {
      throw DataError(error.what(), error.hint());
    }
    columns_ = fields_.size();
    const auto is_it = [this](const CsvField& field) { return field.text == column_name_; };
    const auto found = std::ranges::find_if(fields_, is_it);
    column_ = static_cast<size_t>(found - fields_.begin());
    if (std::ranges::count_if(fields_, is_it) != 1) {
      throw DataError(fmt::format("{}: {} column \"{}\", only: {}", file_->place(file_->record_line()),
                                  found == fields_.end() ? "no" : "more than one", column_name_, header_excerpt()),
                      "data.json_field names the column that holds the text; the first record names the columns, after "
                      "data.skip_lines lines");
    }
    return true;
  }
  std::string header_excerpt() const {
    std::string names;
    for (const CsvField& field : fields_) names += (names.empty() ? "" : ", ") + field.text;
    return excerpt(names);
  }

  // False for a record without text.
  bool take_document(TextRecord& record) {
    if (fields_.size() != columns_) {
      const bool few = fields_.size() < columns_;
      throw BadRecordError(few ? BadRecord::TooFewColumns : BadRecord::Malformed,
                           fmt::format("{}: {}, but the file has {} columns", file_->place(file_->record_line()),
                                       counted(std::ssize(fields_), "field"), columns_),
                           "put a field with commas into quotes");
    }
    CsvField& field = fields_[column_];
    if (field.text.empty()) return false;
    record = {.source = std::move(field.text), .file = path_, .target_file = path_, .line = field.line};
    refuse_nul(record);
    return true;
  }

  const std::vector<TextFile> files_;
  const std::string column_name_;
  const int64_t skip_lines_, most_record_bytes_;
  BadRecords& bad_;
  std::optional<CsvFile> file_;  // the file being read
  std::shared_ptr<const fs::path> path_;
  std::vector<CsvField> fields_;  // fields of the last record
  size_t columns_ = 0, column_ = 0;
  uint64_t finished_ = 0;            // bytes of the files before file_
  std::vector<uint64_t> checksums_;  // checksums of the files before file_
};

}  // namespace

std::unique_ptr<RecordReader> open_csv(const DataConfig& config, TextFiles files, BadRecords& bad, int) {
  return std::make_unique<CsvReader>(config, std::move(files), bad);
}

}  // namespace weft
