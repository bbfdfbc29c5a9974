// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "kernels/context.h"

namespace weft::test {

// A device that computes as the CPU does, to the bit, on memory with two views: the address that tensors show allows
// no access, so that host code which uses it ends the program; only the backend's maths has the other address. New
// memory holds NaNs. Its tensors report that they are not on the host, as those of a GPU do.
std::unique_ptr<Context> guarded_context(int threads = 1);

// A context of the plain CPU or of the guarded device.
inline std::unique_ptr<Context> test_context(bool guarded, int threads = 1) {
  return guarded ? guarded_context(threads) : std::make_unique<Context>(Device{}, threads);
}

}  // namespace weft::test
