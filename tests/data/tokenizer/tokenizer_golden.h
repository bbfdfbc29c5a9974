// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/source_dir.h"

namespace weft::test {

// golden/tokenizer_golden.json and the hash that make_tokenizer_golden.py states.
inline const nlohmann::json& tokenizer_golden() {
  static const nlohmann::json golden =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/tokenizer/tokenizer_golden.json"));
  return golden;
}

inline constexpr uint64_t kEmptyIdsHash = 14695981039346656037u;
inline uint64_t ids_hash(uint64_t id, uint64_t hash) { return hash * 1099511628211u + id + 1; }

}  // namespace weft::test
