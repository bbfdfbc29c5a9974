// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/hash.h"

namespace weft {

// The bytes of a file as they lie on disk, in order, some at a time. Errors lack the file's name: the caller adds it.
class FileBytes {
 public:
  explicit FileBytes(File file);
  // The bytes that were read and not taken; reads more if there are none. Empty at the end.
  std::string_view available();
  // At least `bytes` of these bytes, unless the file ends earlier.
  std::string_view at_least(size_t bytes);
  void take(size_t bytes) { begin_ += bytes; }
  uint64_t taken() const { return read_ - (end_ - begin_); }
  uint64_t checksum() const { return hasher_.digest(); }  // hash64 of all bytes read; at the end, of the file

 private:
  bool read_more();

  File file_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t read_ = 0;
  Hasher hasher_;
};

// Standard input from its current position: opened by a name, a file would be read from its start again, and a socket
// could not be opened at all.
File standard_input_file();

// Decompresses a file.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Decodes some of the next bytes, `most` at most; 0 at the end. DataError, without the file's name, if the file is
  // damaged or ends too early.
  virtual size_t read(FileBytes& from, char* into, size_t most) = 0;
};

// The decoder for a file's first bytes: gzip (RFC 1952, members one after another), zstd (RFC 8878, frames one after
// another), or plain. DataError for other compressions, and for files named .gz or .zst that hold something else.
std::unique_ptr<Decoder> make_decoder(FileBytes& from, const fs::path& path);

std::unique_ptr<Decoder> make_gzip_decoder();
// Whether this build reads zstd: false if libzstd was not found.
bool has_zstd();
// DataError if !has_zstd().
std::unique_ptr<Decoder> make_zstd_decoder();

}  // namespace weft
