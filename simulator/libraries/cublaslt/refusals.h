// SPDX-License-Identifier: Apache-2.0
// What the library refuses though the manual allows it. Which products those are is not documented and differs between
// versions, so it is drawn: by WEFT_CUDA_DEVICE_REFUSALS and the question, and by nothing else, so that every process
// and every run gets the same answer.
#pragma once

#include "simulator/libraries/cublaslt/product.h"

namespace weft::cuda_device {

// Whether there is no algorithm at all for a product, whose descriptors are known, or none with its epilogue. The
// library then says that it does not support the product or, at one row or column, that an argument is wrong.
cublasStatus_t refusal(const Product& product);
// Whether an algorithm that other sizes have is not for this product.
bool refuses(const Product& product, int32_t algorithm);
// Whether the library reports a refused product as a success with no results.
bool refuses_silently(const Product& product);

}  // namespace weft::cuda_device
