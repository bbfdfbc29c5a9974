// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/files/new_file.h"
#include "checkpoint/safetensors/safetensors.h"

namespace weft {

// A tensor to be written.
struct TensorToStore {
  std::string name;
  StoredType type = StoredType::F32;  // F32 or BF16
  Shape shape;
};

// Writes values at a place of a file as F32 or BF16, rounded to nearest even; returns the place behind them.
uint64_t write_values(File& file, uint64_t at, StoredType type, std::span<const float> values);

// Writes a safetensors file, its tensors one after the other in the given order. It has no name until finish();
// without finish() it is deleted.
class SafetensorsWriter {
 public:
  SafetensorsWriter(fs::path path, std::vector<TensorToStore> tensors,
                    const std::map<std::string, std::string>& metadata);

  // Writes all values of the next tensor, rounded to nearest even if it is BF16.
  void write(std::span<const float> values);
  // DataError if the disk is full, InternalError if tensors are missing.
  void finish();

 private:
  fs::path path_;
  std::vector<TensorToStore> tensors_;
  NewFile file_;
  size_t next_ = 0;
  uint64_t at_ = 0;
};

}  // namespace weft
