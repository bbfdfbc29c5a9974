#pragma once
#include <zlib.h>

#include <string>
#include <string_view>

#include "tests/support/scratch.h"

namespace weft {

// A compressed file in the directory; its path.
inline std::string write_gz(const Scratch& scratch, const std::string& name, std::string_view bytes) {
  const std::string path = (scratch / name).string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

// What the error says, its hint in brackets; "no error" if none comes.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(error.what()) + (error.hint().empty() ? "" : " [" + error.hint() + "]");
  }
  return "no error";
}

}  // namespace weft
