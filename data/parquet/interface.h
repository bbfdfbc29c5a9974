// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// What weft and its module for Parquet (libweft_parquet.so) say to each other. These are plain functions and
// structures, so that no C++ type of Arrow and no exception crosses the border: a module that was built with another
// version of Arrow, or by another compiler, still fits.
//
// Texts that are returned end with a NUL and belong to the module. A function that fails writes the reason into
// `error`. A file is used by one thread at a time.
extern "C" {

// A file that is open.
struct WeftParquetFile;

struct WeftParquetError {
  char text[512];
};

// One column of the rows that were read last. The arrays have an element for each row, and hold until the next call.
struct WeftParquetTexts {
  const char* bytes;           // the texts, one after another
  const uint64_t* ends;        // where each text ends in `bytes`
  const unsigned char* nulls;  // 1: the row has no text; its text is empty
};

// The number of this interface; a module with another number is not called again.
[[gnu::visibility("default")]] int weft_parquet_interface() noexcept;
// The library that reads the files, with its version: "Arrow 26.0.1".
[[gnu::visibility("default")]] const char* weft_parquet_library() noexcept;

// Opens a file and reads what it says about itself. Null if it fails. `most_memory`: bytes that pages may take, when
// they are unpacked, at any time.
[[gnu::visibility("default")]] WeftParquetFile* weft_parquet_open(const char* path, uint64_t most_memory,
                                                                  WeftParquetError* error) noexcept;
[[gnu::visibility("default")]] void weft_parquet_close(WeftParquetFile* file) noexcept;
[[gnu::visibility("default")]] int64_t weft_parquet_rows(const WeftParquetFile* file) noexcept;

// The columns of the highest level: their number, and name and type of each. A column is text if its type is "string".
[[gnu::visibility("default")]] int weft_parquet_columns(const WeftParquetFile* file) noexcept;
[[gnu::visibility("default")]] const char* weft_parquet_column_name(const WeftParquetFile* file, int column) noexcept;
[[gnu::visibility("default")]] const char* weft_parquet_column_type(const WeftParquetFile* file, int column) noexcept;
// Chooses a column of text to read beside those that were chosen before. Called before the first read.
[[gnu::visibility("default")]] void weft_parquet_choose(WeftParquetFile* file, int column) noexcept;

// Reads the next rows of the chosen columns, and stops when their texts have `enough` bytes; at least one row, unless
// the file ends. Of a text with more than `most_bytes` only one byte more is given. Returns the number of rows: 0 at
// the end of the file, -1 if it fails. `texts` has an element for each chosen column.
[[gnu::visibility("default")]] int64_t weft_parquet_read(WeftParquetFile* file, uint64_t enough, uint64_t most_bytes,
                                                         WeftParquetTexts* texts, WeftParquetError* error) noexcept;

}  // extern "C"

namespace weft {

inline constexpr int kParquetInterface = 1;
inline constexpr const char* kParquetText = "string";  // the type of a column of text

}  // namespace weft
