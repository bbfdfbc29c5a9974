// SPDX-License-Identifier: Apache-2.0
#include "tests/support/operation_context.h"

#include <cstdlib>
#include <string_view>

#include "kernels/cpu/cpu_backend.h"
#include "tests/support/managed_backend.h"

namespace weft::test {
namespace {

std::unique_ptr<Backend> backend_for(Device device, int threads) {
  if (operations_on_cuda() && device.kind == DeviceKind::Cpu) return managed_cuda_backend(threads);
  return std::make_unique<cpu::CpuBackend>(threads);
}

}  // namespace

bool operations_on_cuda() {
  const char* chosen = std::getenv("WEFT_TEST_DEVICE");
  return chosen && std::string_view(chosen) == "cuda";
}

OperationContext::OperationContext(Device device, int threads)
    : Context(threads, backend_for(device, threads), device.kind == DeviceKind::Meta, MemoryPool::GivesBack::AtOnce) {}

}  // namespace weft::test
