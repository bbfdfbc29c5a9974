// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/parquet/interface.h"
#include "data/text/text_file.h"

namespace weft {

struct ParquetLibrary;

// A column of text to read, and the key of the job that names it.
struct ParquetColumn {
  std::string key;
  std::string name;
};

// A Parquet file, of which some columns of text are read from the first row to the last, a piece of the rows at a time.
// Memory: the piece, and of each column a page and the dictionary; these may take four times `most_bytes`, and 256 MiB
// if that is less. Every error is a DataError that names the file; of a part that is damaged, its row group too.
class ParquetFile {
 public:
  // DataError, too, if the file lacks one of the columns, or if it is no text, with the columns that there are. Of a
  // text with more than `most_bytes` bytes, one byte more is read.
  ParquetFile(const TextFile& file, std::span<const ParquetColumn> columns, int64_t most_bytes);

  // Reads the next rows, whose texts have about a mebibyte, or more where single texts have. False at the end.
  bool read();
  int64_t num_read() const { return read_; }  // rows that read() gave last
  // The text of a row of these, by the number of the column; nullopt: it is null. Holds until the next read().
  std::optional<std::string_view> text(size_t column, int64_t row) const;
  int64_t rows_before() const { return passed_ - read_; }  // rows of the file before these
  double share_read() const;                               // of the rows of the file

 private:
  using Handle = std::unique_ptr<WeftParquetFile, decltype(&weft_parquet_close)>;
  Handle opened(const std::string& place) const;
  int column_of(const ParquetColumn& column) const;
  std::string shown_columns() const;
  [[noreturn]] void refuse(const WeftParquetError& error) const;

  const fs::path name_;
  const uint64_t most_bytes_;
  std::shared_ptr<const ParquetLibrary> library_;
  Handle file_;
  std::vector<WeftParquetTexts> texts_;  // one a column
  int64_t rows_ = 0, read_ = 0, passed_ = 0;
};

// The library that reads Parquet files, or why there is none, for the console.
std::string describe_parquet();

}  // namespace weft
