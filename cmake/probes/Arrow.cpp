// SPDX-License-Identifier: Apache-2.0
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <parquet/api/reader.h>

int main() {
  const auto bytes = arrow::Buffer::FromString("no such file");
  try {
    parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(bytes));
  } catch (const parquet::ParquetException&) {
    return 0;
  }
  return 1;
}
