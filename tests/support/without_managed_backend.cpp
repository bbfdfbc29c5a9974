// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "tests/support/managed_backend.h"

namespace weft::test {

std::unique_ptr<Backend> managed_cuda_backend(int) { throw InternalError("this build has no CUDA device"); }

}  // namespace weft::test
