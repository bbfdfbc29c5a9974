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

// The bytes of a file as they lie on disk, in order, some at a time. Errors lack the file's name: who reads adds it.
class FileBytes {
 public:
  explicit FileBytes(File file);
  // What was read and not yet taken; reads on where that is nothing. Empty at the end.
  std::string_view available();
  // The same, of `bytes` at least unless the file ends before.
  std::string_view at_least(size_t bytes);
  void take(size_t bytes) { begin_ += bytes; }
  uint64_t taken() const { return read_ - (end_ - begin_); }
  uint64_t checksum() const { return hasher_.digest(); }  // hash64 of what was read: at the end, of the file

 private:
  bool read_more();

  File file_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t read_ = 0;
  Hasher hasher_;
};

// Standard input where it stands, whatever it is: opened by a name it would begin anew, and a socket could not be.
File standard_input_file();

// What a file holds once it is decompressed.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Some of the bytes that come next, `most` at most; 0 at the end. DataError, without the file's name, if they are
  // damaged or break off.
  virtual size_t read(FileBytes& from, char* into, size_t most) = 0;
};

// By the first bytes: gzip (RFC 1952, members one after another), zstd (RFC 8878, frames one after another), or as they
// are. DataError for what is compressed otherwise, and where the name says .gz or .zst and the bytes do not.
std::unique_ptr<Decoder> make_decoder(FileBytes& from, const fs::path& path);

std::unique_ptr<Decoder> make_gzip_decoder();
// Whether this build reads text that zstd compressed: not where libzstd was not found.
bool has_zstd();
// DataError where it does not.
std::unique_ptr<Decoder> make_zstd_decoder();

}  // namespace weft
