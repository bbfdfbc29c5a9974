// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "data/text/byte_stream.h"

namespace weft {

bool has_zstd() { return false; }

std::unique_ptr<Decoder> make_zstd_decoder() {
  throw DataError("compressed with zstd, and this weft is built without it",
                  "decompress it first, or build weft where libzstd-dev is installed");
}

}  // namespace weft
