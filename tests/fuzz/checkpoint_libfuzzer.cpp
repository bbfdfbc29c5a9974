#include <cstddef>

#include "tests/fuzz/checkpoint_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::test::reads_checkpoint({data, size});
  return 0;
}
