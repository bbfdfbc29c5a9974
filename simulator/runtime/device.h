// SPDX-License-Identifier: Apache-2.0
// The simulated device has the limits of the compute capability that it says it has, and an H100's multiprocessors and
// memory; its name contains "simulated".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::cuda_device {

struct DeviceLimits {
  static constexpr const char* kName = "simulated device";
  static constexpr int kMultiprocessors = 132;
  static constexpr int kWarp = 32;
  static constexpr uint32_t kThreadsPerBlock = 1024, kBlockX = 1024, kBlockY = 1024, kBlockZ = 64;
  static constexpr uint32_t kGridX = 2147483647, kGridY = 65535, kGridZ = 65535;
  static constexpr int kRegistersPerBlock = 65536, kRegistersPerMultiprocessor = 65536;
  static constexpr size_t kSharedPerBlock = 48 << 10;  // without opting in to more
  static constexpr size_t kSharedReserved = 1 << 10;   // bytes that the system takes of each block
  static constexpr int kHighestPriority = -5;          // of a stream; the usual one is 0
  static constexpr int kL2Bytes = 50 << 20;
  static constexpr size_t kConstantBytes = 64 << 10;

  // What differs between capabilities: the CUDA C++ Programming Guide, "Technical Specifications per Compute
  // Capability".
  struct Multiprocessor {
    int capability;  // 80 is 8.0
    size_t shared;   // bytes of shared memory; a block gets all but kSharedReserved with cudaFuncSetAttribute
    int threads, blocks;

    size_t shared_per_block_opt_in() const { return shared - kSharedReserved; }
  };
  static constexpr std::array kMultiprocessorOf = {
      Multiprocessor{80, 164 << 10, 2048, 32}, Multiprocessor{86, 100 << 10, 1536, 16},
      Multiprocessor{87, 164 << 10, 1536, 16}, Multiprocessor{89, 100 << 10, 1536, 24},
      Multiprocessor{90, 228 << 10, 2048, 32}, Multiprocessor{100, 228 << 10, 2048, 32},
      Multiprocessor{120, 100 << 10, 1536, 24}};
  // Those of the newest of these capabilities that is not newer; of 8.0 for older ones.
  static constexpr const Multiprocessor& multiprocessor(int capability) {
    size_t newest = 0;
    for (size_t k = 0; k < kMultiprocessorOf.size(); ++k) {
      if (kMultiprocessorOf[k].capability <= capability) newest = k;
    }
    return kMultiprocessorOf[newest];
  }
};

}  // namespace weft::cuda_device
