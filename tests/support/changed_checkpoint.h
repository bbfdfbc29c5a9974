// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>

#include "base/hash.h"
#include "checkpoint/manifest.h"
#include "tests/support/stored_tensors.h"

namespace weft::test {

// Flips one bit of an element of a tensor, in fp32 the highest of its fraction, and corrects the checksums of its
// block, of the index and of the manifest: all but the digest say that the checkpoint is sound.
inline void flip_soundly(const fs::path& checkpoint, const std::string& buffer, const std::string& name) {
  CheckpointManifest manifest = read_checkpoint_manifest(checkpoint);
  for (CheckpointFile& stored : manifest.files) {
    const fs::path path = checkpoint / stored.name;
    PartIndex index = *read_index(checkpoint, stored);
    for (StoredArray& array : index.arrays) {
      uint64_t at = 0;
      const auto of_tensor = std::ranges::find_if(array.stretches, [&](const Stretch& stretch) {
        if (array.buffer == buffer && stretch.name == name) return true;
        at += static_cast<uint64_t>(stretch.elements()) * size_of(array.dtype);
        return false;
      });
      if (of_tensor == array.stretches.end()) continue;
      flip_bits(path, array.offset + at + 2, 0x40);
      const uint64_t block = at / index.block_bytes, begin = block * index.block_bytes;
      std::string bytes(std::min(index.block_bytes, array.bytes() - begin), '\0');
      File file(path, File::Mode::ReadWrite);
      file.read_at(array.offset + begin, bytes.data(), bytes.size());
      array.hashes[block] = hash64(bytes);
      const std::string text = index_text(index);
      file.write_at(stored.index.offset, text.data(), text.size());
      stored.index.hash = hash64(text);
      write_file_atomically(manifest_path(checkpoint), checkpoint_manifest_text(manifest));
      return;
    }
  }
  throw DataError(checkpoint.string() + ": no " + buffer + " of " + name);
}

}  // namespace weft::test
