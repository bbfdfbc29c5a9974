// SPDX-License-Identifier: Apache-2.0
#include "data/parquet/parquet_file.h"

#include <algorithm>

#include "base/error.h"
#include "data/parquet/library.h"
#include "data/text/bad_records.h"

namespace weft {

namespace {

constexpr uint64_t kPieceOfRows = uint64_t{1} << 20;    // bytes
constexpr uint64_t kLeastMemory = uint64_t{256} << 20;  // bytes that pages may take
constexpr int kMostColumns = 8;                         // that a message repeats

std::shared_ptr<const ParquetLibrary> library_for(const fs::path& name) {
  try {
    return ParquetLibrary::open();
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", name.string(), error.what()), error.hint());
  }
}

}  // namespace

ParquetFile::ParquetFile(const TextFile& file, std::span<const ParquetColumn> columns, int64_t most_bytes)
    : name_(file.name()),
      most_bytes_(static_cast<uint64_t>(most_bytes)),
      library_(library_for(name_)),
      file_(opened(file.place().string())),
      texts_(columns.size()),
      rows_(library_->rows(file_.get())) {
  for (const ParquetColumn& column : columns) library_->choose(file_.get(), column_of(column));
}

ParquetFile::Handle ParquetFile::opened(const std::string& place) const {
  WeftParquetError error{};
  Handle file(library_->open_file(place.c_str(), std::max(4 * most_bytes_, kLeastMemory), &error), library_->close);
  if (!file) refuse(error);
  return file;
}

void ParquetFile::refuse(const WeftParquetError& error) const {
  throw DataError(fmt::format("{}: cannot be read as Parquet: {}", name_.string(), std::string_view(error.text)));
}

int ParquetFile::column_of(const ParquetColumn& column) const {
  const auto refuse = [&](const std::string& what) {
    throw DataError(fmt::format("{}: {}, only: {}", name_.string(), what, shown_columns()),
                    fmt::format("{} names the column to read", column.key));
  };
  int found = -1;
  for (int i = 0; i < library_->columns(file_.get()); ++i) {
    if (library_->column_name(file_.get(), i) != column.name) continue;
    if (found >= 0) refuse(fmt::format("more than one column \"{}\"", column.name));
    found = i;
  }
  if (found < 0) refuse(fmt::format("no column \"{}\"", column.name));
  const std::string_view type = library_->column_type(file_.get(), found);
  if (type != kParquetText) refuse(fmt::format("column \"{}\" is no text but {}", column.name, type));
  return found;
}

// The first columns as "id (int64), text (string)".
std::string ParquetFile::shown_columns() const {
  const int all = library_->columns(file_.get());
  std::string shown;
  for (int i = 0; i < std::min(all, kMostColumns); ++i) {
    shown += fmt::format("{}\"{}\" ({})", i > 0 ? ", " : "", excerpt(library_->column_name(file_.get(), i)),
                         excerpt(library_->column_type(file_.get(), i)));
  }
  return all > kMostColumns ? shown + ", ..." : shown;
}

bool ParquetFile::read() {
  WeftParquetError error{};
  read_ = library_->read(file_.get(), kPieceOfRows, most_bytes_, texts_.data(), &error);
  if (read_ < 0) refuse(error);
  passed_ += read_;
  return read_ > 0;
}

std::optional<std::string_view> ParquetFile::text(size_t column, int64_t row) const {
  const WeftParquetTexts& texts = texts_[column];
  if (texts.nulls[row]) return {};
  const uint64_t begin = row == 0 ? 0 : texts.ends[row - 1];
  return std::string_view(texts.bytes + begin, texts.ends[row] - begin);
}

double ParquetFile::share_read() const {
  return rows_ == 0 ? 1 : static_cast<double>(passed_) / static_cast<double>(rows_);
}

}  // namespace weft
