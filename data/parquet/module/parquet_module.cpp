// SPDX-License-Identifier: Apache-2.0
// The module for Parquet, by Arrow's reader of columns. A column is read page by page: of a row group, however large,
// only the page at hand and the column's dictionary are in memory.
#include <arrow/config.h>
#include <arrow/io/file.h>
#include <parquet/api/reader.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "data/parquet/interface.h"
#include "data/parquet/module/limited_memory.h"

namespace weft {
namespace {

constexpr int64_t kReadAtOnce = 1 << 20;  // bytes of a file
constexpr int64_t kRowsAtOnce = 64;
constexpr uint64_t kRowBytes = 16;  // a row takes memory even if its text is empty

// What is wrong with a file that Arrow does not mind.
class Damage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string in_small_letters(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

// The type of a column of the highest level; kParquetText if it holds one text a row.
std::string type_of(const parquet::schema::Node& node) {
  if (node.is_group())
    return node.logical_type()->is_list() ? "list" : node.logical_type()->is_map() ? "map" : "struct";
  if (node.is_repeated()) return "list";
  const parquet::LogicalType& logical = *node.logical_type();
  const parquet::Type::type stored = static_cast<const parquet::schema::PrimitiveNode&>(node).physical_type();
  const bool text = logical.is_string() || logical.is_enum() || logical.is_JSON();
  if (stored == parquet::Type::BYTE_ARRAY && text) return kParquetText;
  if (logical.is_valid() && !logical.is_none()) return in_small_letters(logical.ToString());
  return stored == parquet::Type::BYTE_ARRAY ? "binary" : in_small_letters(parquet::TypeToString(stored));
}

// A column that is read, and its texts since clear().
class Column {
 public:
  Column(int leaf, std::string name) : leaf_(leaf), name_(std::move(name)) {}

  void open(parquet::RowGroupReader& group) {
    const int64_t rows = group.metadata()->num_rows();
    const int64_t values = group.metadata()->ColumnChunk(leaf_)->num_values();
    if (values != rows) {
      throw Damage("column \"" + name_ + "\" has " + std::to_string(values) + " values for " + std::to_string(rows) +
                   " rows");
    }
    reader_ = std::static_pointer_cast<parquet::ByteArrayReader>(group.Column(leaf_));
    if (reader_->type() != parquet::Type::BYTE_ARRAY) throw Damage("column \"" + name_ + "\" has two types");
  }
  void clear() { bytes_.clear(), ends_.clear(), nulls_.clear(); }

  // Reads some of the next rows, `most` at most, that lie in one page; returns their number, which is at least 1.
  int64_t read_some(int64_t most, uint64_t most_bytes) {
    parquet::ByteArray values[kRowsAtOnce];
    int16_t levels[kRowsAtOnce];
    std::fill(levels, levels + kRowsAtOnce, reader_->descr()->max_definition_level());
    int64_t num_values = 0, value = 0;
    const int64_t rows = reader_->ReadBatch(std::min(most, kRowsAtOnce), levels, nullptr, values, &num_values);
    if (rows < 1) throw Damage("column \"" + name_ + "\" ends before the rows do");
    for (int64_t row = 0; row < rows; ++row) {
      const bool null = levels[row] < reader_->descr()->max_definition_level();
      if (!null && value == num_values) throw Damage("column \"" + name_ + "\" lacks values");
      if (!null) append(values[value++], most_bytes);
      ends_.push_back(bytes_.size());
      nulls_.push_back(null);
    }
    return rows;
  }
  void read_all(int64_t rows, uint64_t most_bytes) {
    while (rows > 0) rows -= read_some(rows, most_bytes);
  }
  uint64_t size() const { return bytes_.size() + kRowBytes * ends_.size(); }
  WeftParquetTexts texts() const { return {bytes_.data(), ends_.data(), nulls_.data()}; }

 private:
  void append(const parquet::ByteArray& value, uint64_t most_bytes) {
    bytes_.append(reinterpret_cast<const char*>(value.ptr), std::min<uint64_t>(value.len, most_bytes + 1));
  }

  int leaf_;
  std::string name_;
  std::shared_ptr<parquet::ByteArrayReader> reader_;
  std::string bytes_;
  std::vector<uint64_t> ends_;
  std::vector<unsigned char> nulls_;
};

}  // namespace
}  // namespace weft

struct WeftParquetFile {
  WeftParquetFile(const char* path, int64_t most_memory) : memory_(most_memory) {
    parquet::ReaderProperties properties(&memory_);
    properties.enable_buffered_stream();
    properties.set_buffer_size(weft::kReadAtOnce);
    properties.set_page_checksum_verification(true);
    std::shared_ptr<arrow::io::ReadableFile> file;
    PARQUET_ASSIGN_OR_THROW(file, arrow::io::ReadableFile::Open(path, &memory_));
    reader_ = parquet::ParquetFileReader::Open(std::move(file), properties);
    metadata_ = reader_->metadata();
    const parquet::schema::GroupNode& top = *metadata_->schema()->group_node();
    for (int i = 0; i < top.field_count(); ++i) {
      names_.push_back(top.field(i)->name());
      types_.push_back(weft::type_of(*top.field(i)));
    }
    check_rows();
  }

  int64_t rows() const { return metadata_->num_rows(); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& types() const { return types_; }
  void choose(int column) {
    const parquet::SchemaDescriptor& schema = *metadata_->schema();
    columns_.emplace_back(schema.ColumnIndex(*schema.group_node()->field(column)), names_[static_cast<size_t>(column)]);
  }

  int64_t read(uint64_t enough, uint64_t most_bytes, WeftParquetTexts* texts) {
    for (weft::Column& column : columns_) column.clear();
    int64_t rows = 0;
    while (size() < enough && (rows_left_ > 0 || open_next_group())) {
      const int64_t some = columns_.front().read_some(rows_left_, most_bytes);
      for (size_t i = 1; i < columns_.size(); ++i) columns_[i].read_all(some, most_bytes);
      rows += some, rows_left_ -= some;
    }
    for (const weft::Column& column : columns_) *texts++ = column.texts();
    return rows;
  }
  // "row group 2 of 8: " while one is read.
  std::string place() const {
    if (next_group_ == 0) return {};
    return "row group " + std::to_string(next_group_) + " of " + std::to_string(metadata_->num_row_groups()) + ": ";
  }

 private:
  void check_rows() const {
    int64_t left = rows();
    for (int group = 0; group < metadata_->num_row_groups(); ++group) {
      const int64_t rows = metadata_->RowGroup(group)->num_rows();
      if (rows < 0 || rows > left) throw weft::Damage("its row groups have other numbers of rows than the file");
      left -= rows;
    }
    if (left != 0) throw weft::Damage("its row groups have other numbers of rows than the file");
  }
  // Opens the next row group that has rows; false if there is none.
  bool open_next_group() {
    while (next_group_ < metadata_->num_row_groups()) {
      group_ = reader_->RowGroup(next_group_++);
      rows_left_ = group_->metadata()->num_rows();
      if (rows_left_ == 0) continue;
      for (weft::Column& column : columns_) column.open(*group_);
      return true;
    }
    return false;
  }
  uint64_t size() const {
    uint64_t sum = 0;
    for (const weft::Column& column : columns_) sum += column.size();
    return sum;
  }

  weft::LimitedMemory memory_;  // outlives what is allocated in it
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<std::string> names_, types_;
  int next_group_ = 0;
  int64_t rows_left_ = 0;  // in the row group that is read
  std::shared_ptr<parquet::RowGroupReader> group_;
  std::vector<weft::Column> columns_;
};

namespace weft {
namespace {

// Writes one line: messages of libraries repeat what damaged files hold.
void set(WeftParquetError* error, std::string_view place, std::string_view what) noexcept {
  size_t at = 0;
  for (const std::string_view part : {place, what}) {
    for (const char c : part) {
      if (at + 1 == sizeof error->text) break;
      error->text[at++] = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  error->text[at] = '\0';
}

// The result of `work`, or `failure` if it throws.
template <class Result, class Work>
Result guarded(const WeftParquetFile* file, WeftParquetError* error, Result failure, const Work& work) noexcept {
  try {
    return work();
  } catch (const std::exception& problem) {
    try {
      set(error, file ? file->place() : std::string(), problem.what());
    } catch (...) {  // no memory is left for the place
      set(error, {}, "no memory is left");
    }
  } catch (...) {
    set(error, {}, "an unknown failure of the library");
  }
  return failure;
}

}  // namespace
}  // namespace weft

int weft_parquet_interface() noexcept { return weft::kParquetInterface; }

const char* weft_parquet_library() noexcept { return "Arrow " ARROW_VERSION_STRING; }

WeftParquetFile* weft_parquet_open(const char* path, uint64_t most_memory, WeftParquetError* error) noexcept {
  return weft::guarded<WeftParquetFile*>(nullptr, error, nullptr, [&] {
    return std::make_unique<WeftParquetFile>(path, static_cast<int64_t>(most_memory)).release();
  });
}

void weft_parquet_close(WeftParquetFile* file) noexcept { delete file; }

int64_t weft_parquet_rows(const WeftParquetFile* file) noexcept { return file->rows(); }

int weft_parquet_columns(const WeftParquetFile* file) noexcept { return static_cast<int>(file->names().size()); }

const char* weft_parquet_column_name(const WeftParquetFile* file, int column) noexcept {
  return file->names()[static_cast<size_t>(column)].c_str();
}

const char* weft_parquet_column_type(const WeftParquetFile* file, int column) noexcept {
  return file->types()[static_cast<size_t>(column)].c_str();
}

void weft_parquet_choose(WeftParquetFile* file, int column) noexcept { file->choose(column); }

int64_t weft_parquet_read(WeftParquetFile* file, uint64_t enough, uint64_t most_bytes, WeftParquetTexts* texts,
                          WeftParquetError* error) noexcept {
  return weft::guarded<int64_t>(file, error, -1, [&] { return file->read(enough, most_bytes, texts); });
}
