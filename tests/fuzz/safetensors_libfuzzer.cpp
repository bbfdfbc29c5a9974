#include <cstddef>

#include "tests/fuzz/safetensors_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::test::reads_safetensors({data, size});
  return 0;
}
