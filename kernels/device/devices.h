// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "kernels/tensor.h"

namespace weft {

// The device that a job computes on. Auto: a CUDA device if there is one, else the CPU.
enum class DeviceChoice : uint8_t { Auto, Cpu, Cuda };

template <>
struct EnumNames<DeviceChoice> {
  static constexpr auto kNames = enum_names<DeviceChoice>("auto", "cpu", "cuda");
};

// The implementation of attention on a CUDA device: weft's own kernels, or cuDNN for the cases that it covers.
enum class AttentionChoice : uint8_t { Auto, Own, Cudnn };

template <>
struct EnumNames<AttentionChoice> {
  static constexpr auto kNames = enum_names<AttentionChoice>("auto", "own", "cudnn");
};

class Backend;
class Context;

// The CUDA devices of this machine that this process sees.
struct CudaDevices {
  bool built = false;              // whether this weft has CUDA code; runtime, driver and code are empty if not
  std::string runtime;             // "CUDA 13.0"
  std::string driver;              // "driver for CUDA 13.0", "no driver"
  std::string code;                // the architectures that weft is compiled for: "80-real 90-real 80-virtual"
  std::vector<std::string> names;  // by index: "NVIDIA H100 80GB HBM3, sm_90"
  std::string why_none;            // if names is empty: the runtime's error, or that this build has no CUDA
};
// For a process with others: CUDA loads all kernels when it opens a device, and not each at its first launch. A kernel
// that is loaded while a collective runs may wait for the device, which waits for other ranks, which load theirs in
// turn. Sets CUDA_MODULE_LOADING, unless the environment already has it. Call it before anything asks for devices.
void load_kernels_with_the_device();

// Queries the runtime at each call. Works without driver and device.
CudaDevices cuda_devices();
// The first CUDA device, or the CPU. ConfigError if the choice is Cuda and there is none.
Device choose_device(DeviceChoice choice);
// Sets the implementation of attention from now on, and logs it. No effect on the CPU, which has only one.
void choose_attention(Context& context, AttentionChoice choice);
// "cuDNN 9.19.0", or why cuDNN cannot be loaded. Loads the library.
std::string cudnn_text();
// A line for the user: "NVIDIA H100 80GB HBM3, sm_90", "CPU", "CPU (no CUDA device: ...)".
std::string describe_device(const Device& device, DeviceChoice choice);

// InternalError in a build without CUDA. ConfigError if there is no such device, or this build has no code for it.
std::unique_ptr<Backend> make_cuda_backend(int index);
// For plans: no device is needed. ConfigError in a build without CUDA.
std::unique_ptr<Backend> make_planned_cuda_backend();

// The dry device that plans for a CUDA device; no device is needed. ConfigError in a build without CUDA.
std::unique_ptr<Context> plan_for_cuda(int threads);

}  // namespace weft
