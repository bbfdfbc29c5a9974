// SPDX-License-Identifier: Apache-2.0
// The simulated device has the limits of an sm_90 with the memory of an H100; its name contains "simulated".
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::cuda_device {

struct DeviceLimits {
  static constexpr const char* kName = "simulated device";
  static constexpr int kMultiprocessors = 132;
  static constexpr int kWarp = 32;
  static constexpr uint32_t kThreadsPerBlock = 1024, kBlockX = 1024, kBlockY = 1024, kBlockZ = 64;
  static constexpr uint32_t kGridX = 2147483647, kGridY = 65535, kGridZ = 65535;
  static constexpr int kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32;
  static constexpr int kRegistersPerBlock = 65536, kRegistersPerMultiprocessor = 65536;
  static constexpr size_t kSharedPerBlock = 48 << 10;        // without opting in to more
  static constexpr size_t kSharedPerBlockOptIn = 227 << 10;  // with cudaFuncSetAttribute
  static constexpr size_t kSharedPerMultiprocessor = 228 << 10;
  static constexpr size_t kSharedReserved = 1 << 10;  // bytes that the system takes of each block
  static constexpr int kL2Bytes = 50 << 20;
  static constexpr size_t kConstantBytes = 64 << 10;
};

}  // namespace weft::cuda_device
