// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "checkpoint/reader.h"

namespace weft::test {

// Flips these bits of a byte of a file.
inline void flip_bits(const fs::path& path, uint64_t offset, unsigned bits) {
  File file(path, File::Mode::ReadWrite);
  unsigned char byte = 0;
  file.read_at(offset, &byte, 1);
  byte = static_cast<unsigned char>(byte ^ bits);
  file.write_at(offset, &byte, 1);
}

// The checksums of everything that a checkpoint holds, as its files store them: equal tensors in equal layouts have
// equal checksums.
inline std::vector<uint64_t> tensor_hashes(const fs::path& checkpoint) {
  std::vector<uint64_t> hashes;
  for (const CheckpointFile& file : read_checkpoint_manifest(checkpoint).files) {
    const auto index = read_index(checkpoint, file);
    for (const StoredArray& array : index->arrays) {
      hashes.insert(hashes.end(), array.hashes.begin(), array.hashes.end());
    }
  }
  return hashes;
}

// A hash of every tensor of a buffer, by name, whatever the layout that saved it.
inline std::map<std::string, uint64_t> hashes_by_name(const fs::path& path, const std::string& buffer) {
  Context context;
  const Checkpoint checkpoint = Checkpoint::open(path);
  std::map<std::string, uint64_t> hashes;
  for (const auto& [name, shape] : checkpoint.tensors(buffer)) {
    const Tensor all = context.empty(shape, DType::F32);
    checkpoint.read(context, {{buffer, name, shape, std::vector<int64_t>(static_cast<size_t>(shape.rank())), all}});
    hashes[name] = hash64({reinterpret_cast<const char*>(all.raw()), all.bytes()});
  }
  return hashes;
}

}  // namespace weft::test
