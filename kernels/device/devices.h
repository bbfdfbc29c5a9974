// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "kernels/tensor.h"

namespace weft {

// Where a job computes. Auto: on a CUDA device where there is one, otherwise on the CPU.
enum class DeviceChoice : uint8_t { Auto, Cpu, Cuda };

template <>
struct EnumNames<DeviceChoice> {
  static constexpr auto kNames = enum_names<DeviceChoice>("auto", "cpu", "cuda");
};

// What computes attention on a CUDA device: weft's own kernels, or cuDNN where it says the same.
enum class AttentionChoice : uint8_t { Own, Cudnn };

template <>
struct EnumNames<AttentionChoice> {
  static constexpr auto kNames = enum_names<AttentionChoice>("own", "cudnn");
};

class Backend;
class Context;

// The CUDA devices of this machine, as this process sees them.
struct CudaDevices {
  bool built = false;              // this weft has CUDA code; if it has:
  std::string runtime;             // "CUDA 13.0"
  std::string driver;              // "driver for CUDA 13.0", "no driver"
  std::string code;                // what it is compiled for: "80-real 90-real 80-virtual"
  std::vector<std::string> names;  // by index: "NVIDIA H100 80GB HBM3, sm_90"
  std::string why_none;            // where there is none: what the runtime says, or that this build has no CUDA
};
// Asks each time; needs neither driver nor device.
CudaDevices cuda_devices();
// The first CUDA device, or the CPU. ConfigError if the choice is Cuda and there is none.
Device choose_device(DeviceChoice choice);
// From now on; one line says what was chosen. The CPU has its own alone, and nothing to choose.
void choose_attention(Context& context, AttentionChoice choice);
// "cuDNN 9.19.0", or why this process has none. It is opened for this.
std::string cudnn_text();
// For one line to the user: "NVIDIA H100 80GB HBM3, sm_90", "CPU", "CPU (no CUDA device: ...)".
std::string describe_device(const Device& device, DeviceChoice choice);

// InternalError in a build without CUDA, ConfigError where there is no such device or this build has no code for it.
std::unique_ptr<Backend> make_cuda_backend(int index);
std::unique_ptr<Backend> make_planned_cuda_backend();  // of a device that need not be there

// The dry device that plans for a CUDA device, which need not be there. ConfigError in a build without CUDA.
std::unique_ptr<Context> plan_for_cuda(int threads);

}  // namespace weft
