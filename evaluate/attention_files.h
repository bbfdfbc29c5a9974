// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/files.h"
#include "evaluate/text_attention.h"

// The forms in which attention leaves weft; docs/attention.md describes them.
namespace weft {

// How many weights of all layers and heads each form may have: 16 bytes of memory each in JSON, 12 in HDF5.
inline constexpr int64_t kMostWeightsInJson = int64_t{1} << 24, kMostWeightsInHdf5 = int64_t{1} << 27;

// One line of JSON with its end, in ASCII alone: no text in it is a terminal's command, or changes the direction of
// writing. Parts of characters, which JSON cannot hold, are U+FFFD.
std::string attention_json(const TextAttention& attention);

// DataError if this name is taken: neither of the following replaces anything. Commands ask before they begin to work.
void require_free(const fs::path& file);
void write_attention_json(const fs::path& file, const TextAttention& attention);
void write_attention_hdf5(const fs::path& file, const TextAttention& attention);

}  // namespace weft
