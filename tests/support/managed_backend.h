// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "kernels/backend/backend.h"

namespace weft::test {

// See OperationContext. InternalError in a build without CUDA.
std::unique_ptr<Backend> managed_cuda_backend(int threads);

}  // namespace weft::test
