// SPDX-License-Identifier: Apache-2.0
// The entry point of every fuzz target; WEFT_FUZZ_READS names the target's function.
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
