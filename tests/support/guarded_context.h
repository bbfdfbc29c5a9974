// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "kernels/context.h"

namespace weft::test {

// A device that computes as the CPU does, to the bit, on memory with two views: the address that tensors show has no
// access at all, so that host code which follows it ends the program; only the backend's maths knows the other. New
// memory holds NaNs. Its tensors say that they are not on the host, as those of a GPU do.
std::unique_ptr<Context> guarded_context(int threads = 1);

// The plain CPU, or the guarded one.
inline std::unique_ptr<Context> test_context(bool guarded, int threads = 1) {
  return guarded ? guarded_context(threads) : std::make_unique<Context>(Device{}, threads);
}

}  // namespace weft::test
