// SPDX-License-Identifier: Apache-2.0
// Parquet, as JSON lines are read: row n of a file is what line n of the same rows in JSON lines would be.
//  - parquet: data.json_field names the column that holds the text; a row whose text is empty is not a document.
//  - parquet_prompt_answer: data.prompt_field and data.answer_field name the columns.
//  - A row without text (null) in one of the columns, or with a NUL byte in its text, is bad.
#include "base/error.h"
#include "data/parquet/parquet_file.h"
#include "data/prepare/records/record_reader.h"
#include "data/text/text_input.h"

namespace weft {

namespace {

std::vector<ParquetColumn> columns_of(const DataConfig& config) {
  if (config.format == TextFormat::Parquet) return {{"data.json_field", config.json_field}};
  return {{"data.prompt_field", config.prompt_field}, {"data.answer_field", config.answer_field}};
}

// Columns are read, unpacked and cut into records by the caller's thread, ahead of the threads that encode.
class ParquetReader : public RecordReader {
 public:
  ParquetReader(const DataConfig& config, TextFiles files, BadRecords& bad)
      : files_(std::move(files.source)),
        columns_(columns_of(config)),
        most_record_bytes_(config.max_record_bytes),
        bad_(bad) {}

  bool next(TextRecord& record) override {
    while (has_row()) {
      try {
        if (take_row(record)) return true;
      } catch (const BadRecordError& error) {
        bad_.meet(error);
      }
    }
    return false;
  }
  uint64_t consumed() const override { return consumed_; }
  // Only some columns are read.
  std::vector<uint64_t> checksums() const override { return {}; }

 private:
  // Whether row_ is a row; opens and reads what comes next where the rows that were read are passed.
  bool has_row() {
    while (!file_ || row_ == file_->num_read()) {
      if (!file_ && !open_file()) return false;
      row_ = 0;
      const bool more = file_->read();
      consumed_ = finished_ + static_cast<uint64_t>(file_->share_read() * static_cast<double>(file_bytes_));
      if (!more) close_file();
    }
    return true;
  }
  bool open_file() {
    if (opened_ == files_.size()) return false;
    const TextFile& file = files_[opened_++];
    path_ = std::make_shared<const fs::path>(file.name());
    file_bytes_ = file.size();
    file_.emplace(file, columns_, most_record_bytes_);
    return true;
  }
  void close_file() {
    consumed_ = finished_ += file_bytes_;
    file_.reset();
  }

  // False for a row without text to learn from.
  bool take_row(TextRecord& record) {
    const int64_t row = row_++;
    record = {.file = path_, .target_file = path_, .line = file_->rows_before() + row + 1, .on_one_line = true};
    for (size_t column = 0; column < columns_.size(); ++column) {
      const std::optional<std::string_view> text = file_->text(column, row);
      if (!text) refuse_null(columns_[column], record.line);
      (column == 0 ? record.source : record.target) = *text;
    }
    if (std::ssize(record.source) + std::ssize(record.target) > most_record_bytes_) {
      throw too_long(*path_, record.line, most_record_bytes_);
    }
    refuse_nul(record);
    return columns_.size() > 1 || !record.source.empty();
  }
  [[noreturn]] void refuse_null(const ParquetColumn& column, int64_t row) const {
    throw BadRecordError(BadRecord::NoString,
                         fmt::format("{}:{}: column \"{}\" is null", path_->string(), row, column.name),
                         fmt::format("{} says which column is read", column.key));
  }

  const std::vector<TextFile> files_;
  const std::vector<ParquetColumn> columns_;
  const int64_t most_record_bytes_;
  BadRecords& bad_;
  std::optional<ParquetFile> file_;  // the file being read
  std::shared_ptr<const fs::path> path_;
  size_t opened_ = 0;  // files that were opened
  int64_t row_ = 0;    // of those that file_ read last
  uint64_t file_bytes_ = 0, finished_ = 0, consumed_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> open_parquet(const DataConfig& config, TextFiles files, BadRecords& bad, int) {
  return std::make_unique<ParquetReader>(config, std::move(files), bad);
}

}  // namespace weft
