// SPDX-License-Identifier: Apache-2.0
#include "data/parquet/library.h"

#include "base/error.h"
#include "base/process/shared_library.h"

namespace weft {

namespace {

constexpr const char* kHowToGetIt =
    "`pip install pyarrow` brings Arrow, for which `cmake --preset cpu` and `cmake --build build/cpu --target weft` "
    "build "
    "the module (docs/installation.md); without it, write the text as JSON lines (docs/adding_a_dataset.md)";

std::shared_ptr<const ParquetLibrary> opened() {
  const SharedLibrary module("libweft_parquet.so", "Parquet needs a module of weft that cannot be loaded", kHowToGetIt);
  auto parquet = std::make_shared<ParquetLibrary>();
  module.find("weft_parquet_interface", parquet->interface);
  require<DataError>(parquet->interface() == kParquetInterface,
                     "libweft_parquet.so belongs to another version of weft");
  module.find("weft_parquet_library", parquet->library);
  module.find("weft_parquet_open", parquet->open_file);
  module.find("weft_parquet_close", parquet->close);
  module.find("weft_parquet_rows", parquet->rows);
  module.find("weft_parquet_columns", parquet->columns);
  module.find("weft_parquet_column_name", parquet->column_name);
  module.find("weft_parquet_column_type", parquet->column_type);
  module.find("weft_parquet_choose", parquet->choose);
  module.find("weft_parquet_read", parquet->read);
  return parquet;
}

}  // namespace

std::shared_ptr<const ParquetLibrary> ParquetLibrary::open() {
  try {
    return opened();
  } catch (const DeviceError& error) {
    throw DataError(error.what(), error.hint());
  }
}

std::string describe_parquet() {
  try {
    return ParquetLibrary::open()->library();
  } catch (const DataError& error) {
    return fmt::format("no: {}", error.what());
  }
}

}  // namespace weft
