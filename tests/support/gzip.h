// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <zlib.h>

#include <string>
#include <string_view>

#include "tests/support/scratch.h"

namespace weft::test {

// Writes a compressed file to the directory and returns its path.
inline std::string write_gz(const Scratch& scratch, const std::string& name, std::string_view bytes) {
  const std::string path = (scratch / name).string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

}  // namespace weft::test
