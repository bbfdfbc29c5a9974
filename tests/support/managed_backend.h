// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "kernels/backend/backend.h"

namespace weft::test {

// The CUDA backend of OperationContext. Throws InternalError in a build without CUDA.
std::unique_ptr<Backend> managed_cuda_backend(int threads);

}  // namespace weft::test
