// SPDX-License-Identifier: Apache-2.0
// The entry of every fuzz target, whose function WEFT_FUZZ_READS names.
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::test {
bool WEFT_FUZZ_READS(std::span<const uint8_t> bytes);
}  // namespace weft::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::test::WEFT_FUZZ_READS({data, size});
  return 0;
}
