// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace weft::test {

// A fuzzer's bytes as the text that a reader takes.
inline std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Writes a fuzzer's bytes as files of these names, in their order: a line %% ends a file. What is not there is no file.
inline void write_parts(std::span<const uint8_t> bytes, const fs::path& folder, const std::vector<std::string>& names) {
  constexpr std::string_view kEnd = "\n%%\n";
  std::string_view text = text_of(bytes);
  for (const std::string& name : names) {
    const std::string_view file = text.substr(0, text.find(kEnd));
    std::ofstream(folder / name, std::ios::binary) << file;
    text.remove_prefix(std::min(file.size() + kEnd.size(), text.size()));
    if (text.empty()) break;
  }
}

}  // namespace weft::test
