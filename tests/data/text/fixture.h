// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace weft::test {

// "one\ntwo\n" as `zstd` compresses it, with a checksum of the text.
inline const std::string kZstdText("\x28\xB5\x2F\xFD\x04\x58\x41\x00\x00one\ntwo\n\xE6\xA6\x0E\x40", 21);

}  // namespace weft::test
