// SPDX-License-Identifier: Apache-2.0
// The kernels and variables of the program: nvcc's host code registers fat binaries before main; each is read when
// one of its kernels or variables is first used on a device.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulator/ptx/module.h"

namespace weft::cuda_device {

// The text of the PTX in a fat binary that a device of capability 9.0 would compile. Throws std::runtime_error if the
// binary holds no readable PTX; the message says how to build it.
std::string ptx_of(const void* fat_binary);

// Puts a module's variable into the memory of a device.
using PlaceOnDevice =
    std::function<uint64_t(int device, const std::string& name, std::span<const std::byte> value, size_t alignment)>;

struct FatBinary {
  const void* image = nullptr;
  std::map<int, Module> modules;  // by device: each device has its own variables
};

struct Function {
  FatBinary* binary = nullptr;
  std::string name;                           // mangled
  std::map<int, size_t> dynamic_shared_most;  // by device, if the program has set it
  std::set<int> loaded;                       // devices that have launched it
};

// The functions and variables of a program, which names them by addresses on the host.
class Programs {
 public:
  explicit Programs(PlaceOnDevice place, const Contraction& contraction = {})
      : place_(std::move(place)), contraction_(contraction) {}
  FatBinary& add(const void* image);
  void add_function(FatBinary& binary, const void* host, const char* name);
  void add_variable(FatBinary& binary, const void* host, const char* name);

  Function* function(const void* host);             // null: never registered
  std::vector<std::string> function_names() const;  // names of all registered functions, mangled
  // Null: the fat binary has no such kernel. Throws PtxError and std::runtime_error.
  std::shared_ptr<const Kernel> kernel(const Function& function, int device);
  // A variable with the address 0 was never registered. Throws as kernel() does.
  Variable variable(const void* host, int device);

 private:
  struct HostVariable {
    FatBinary* binary = nullptr;
    std::string name;
  };
  const Module& module(FatBinary& binary, int device);

  PlaceOnDevice place_;
  Contraction contraction_;
  std::list<FatBinary> binaries_;
  std::map<const void*, Function> functions_;
  std::map<const void*, HostVariable> variables_;
};

}  // namespace weft::cuda_device
