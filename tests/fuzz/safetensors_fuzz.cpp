// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/safetensors_fuzz.h"

#include "base/error.h"
#include "checkpoint/safetensors/safetensors.h"
#include "tests/fuzz/memory_file.h"

namespace weft::test {
bool reads_safetensors(std::span<const uint8_t> bytes) {
  const MemoryFile memory(bytes);
  try {
    const SafetensorsFile file(memory.path());
    uint64_t end = 0;
    for (const StoredTensor& tensor : file.header().tensors) {
      require<InternalError>(tensor.begin == end && tensor.end >= end, "tensors are not in order");
      end = tensor.end;
      if (tensor.type == StoredType::Other) continue;
      std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
      file.read(tensor, values);
    }
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace weft::test
