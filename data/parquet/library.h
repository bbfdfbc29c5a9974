// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "data/parquet/interface.h"

namespace weft {

// The functions of the module for Parquet. weft is not linked to it, so a machine without Arrow runs weft, too.
struct ParquetLibrary {
  decltype(&weft_parquet_interface) interface;
  decltype(&weft_parquet_library) library;
  decltype(&weft_parquet_open) open_file;
  decltype(&weft_parquet_close) close;
  decltype(&weft_parquet_rows) rows;
  decltype(&weft_parquet_columns) columns;
  decltype(&weft_parquet_column_name) column_name;
  decltype(&weft_parquet_column_type) column_type;
  decltype(&weft_parquet_choose) choose;
  decltype(&weft_parquet_read) read;

  // Opens the module by the loader's rules; programs that are built or installed with it name its folder themselves.
  // DataError, with a hint how to get the module, if there is none, or no library for it.
  static std::shared_ptr<const ParquetLibrary> open();
};

}  // namespace weft
