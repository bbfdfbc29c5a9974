// SPDX-License-Identifier: Apache-2.0
// Settings of the simulated device. They are environment variables, so that any program can run on it unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/ptx/module.h"

namespace weft::cuda_device {

// Where the simulated cuDNN, which computes nothing, refuses: from its handle to the execution of a plan. A plan of a
// large workspace is refused when it is executed, too.
enum class CudnnStage { Library, Graph, Engines, Plan, Workspace, Execution };
struct CudnnRefusals {
  CudnnStage stage = CudnnStage::Library;
  uint64_t draw = 0;  // not 0: draws the stage of each graph
  CudnnStage of_graph(uint64_t number) const;
};

struct Settings {
  uint64_t seed = 1;  // WEFT_CUDA_DEVICE_SEED: draws the order of operations, blocks and warps
  int devices = 1;    // WEFT_CUDA_DEVICE_COUNT: 0 is a machine without a device
  // CUDA_VISIBLE_DEVICES, as in the real runtime: the devices that the process sees, in their order. Empty: all.
  std::vector<int> visible;
  int linked = 1;                    // WEFT_CUDA_DEVICE_LINKED: this many neighbours could reach each other's memory
  size_t memory = size_t{80} << 30;  // WEFT_CUDA_DEVICE_MEMORY: bytes of each device
  uint64_t patience = 60;            // WEFT_CUDA_DEVICE_PATIENCE: seconds that may pass while nothing at all moves
  int capability = 90;               // WEFT_CUDA_DEVICE_CAPABILITY: PTX of compute_80 cannot be compiled for 75
  int driver = 0;                    // WEFT_CUDA_DEVICE_DRIVER: 12020 is a driver for CUDA 12.2; 0: for the runtime's
  std::string results;               // WEFT_CUDA_DEVICE_RESULTS: the file that Results appends to; empty: none
  uint64_t fail_allocation = 0;      // WEFT_CUDA_DEVICE_FAIL_ALLOCATION: the n-th allocation finds no memory; 0: none
  uint64_t fail_launch = 0;          // WEFT_CUDA_DEVICE_FAIL_LAUNCH: the n-th launch is refused
  uint64_t fail_kernel = 0;          // WEFT_CUDA_DEVICE_FAIL_KERNEL: the n-th launched kernel fails when it runs
  // Faults of the process' n-th collective, when its device reaches it: FAIL_COLLECTIVE: it never ends, and is an
  // asynchronous error of its communicator; STOP_COLLECTIVE: the process gets SIGSTOP; KILL_COLLECTIVE: SIGKILL.
  uint64_t fail_collective = 0, stop_collective = 0, kill_collective = 0;
  uint32_t environment = 0;  // WEFT_CUDA_DEVICE_ENVREG0: what every thread reads from %envreg0
  std::string counts;  // WEFT_CUDA_DEVICE_COUNTS: the file for the cost of each kernel, written at exit; empty: none
  Contraction contraction;  // WEFT_CUDA_DEVICE_CONTRACTION: "all", or a number that draws
  CudnnRefusals cudnn;      // WEFT_CUDA_DEVICE_CUDNN: a stage, or a number that draws one for each graph

  // The number that a device of this process has on the machine.
  int physical(int device) const { return visible.empty() ? device : visible.at(static_cast<size_t>(device)); }
};

// Throws std::runtime_error for a variable that needs a number and has none, and for an unknown one of that prefix.
Settings settings_from_environment();

}  // namespace weft::cuda_device
