// SPDX-License-Identifier: Apache-2.0
// A PTX module decoded from its text: kernels whose registers are places in a register file and whose instructions
// are functions over the 32 lanes of a warp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/ptx/instruction.h"

namespace weft::cuda_device {

// A value that instructions name directly, held in a separate register with the same value in all lanes.
struct Constant {
  Operand place;
  uint64_t bits = 0;
};

struct Parameter {
  size_t offset = 0, bytes = 0;
};

// Registers with the same meaning in every kernel, each of 4 bytes a lane, in this order at the start of the file.
enum class Special {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicShared,
  TotalShared,
  Environment0,
  Count
};
constexpr uint32_t place_of(Special special) { return uint32_t(special) * uint32_t(kLanes) * 4; }

// Generic addresses of shared and of local memory.
constexpr uint64_t kSharedWindow = 0x0000'0100'0000'0000, kLocalWindow = 0x0000'0200'0000'0000,
                   kWindowBytes = uint64_t{1} << 32;

// The origin of an instruction, for messages.
struct Origin {
  std::string text;    // as in the PTX
  std::string source;  // "layer_norm.cu:41", the file without folders; empty without -lineinfo
};

struct Kernel {
  Kernel() = default;
  Kernel(const Kernel&) = delete;  // its instructions point into the kernel
  Kernel& operator=(const Kernel&) = delete;

  std::string name;  // as in the PTX: mangled
  std::vector<Instruction> code;
  std::vector<Origin> origins;    // one for each instruction
  std::vector<Operand> operands;  // the spans of instructions point into these
  std::vector<Constant> constants;
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0;
  size_t shared_bytes = 0;      // static bytes; dynamic shared memory starts after them
  size_t local_bytes = 0;       // per thread
  size_t register_bytes = 0;    // per warp
  uint32_t max_threads = 1024;  // .maxntid
};

// A __device__ or __constant__ variable, and the place that `place` gave it.
struct Variable {
  uint64_t address = 0;
  size_t bytes = 0;
};

struct Module {
  std::map<std::string, std::shared_ptr<const Kernel>> kernels;
  std::map<std::string, Variable> variables;
};

// Which products are fused with the sums that they are used in (contraction.h): none, those that a number draws, or
// all.
struct Contraction {
  uint64_t draw = 0;  // 0: none
  bool all = false;
  bool any() const { return all || draw != 0; }
};

// Gives a module variable its place in device memory, holding `value`.
using Place = std::function<uint64_t(const std::string& name, std::span<const std::byte> value, size_t alignment)>;

// The text contains an unknown instruction, modifier or type, which would change a result.
// what() names the source file and line, the kernel and the instruction.
class PtxError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws PtxError.
Module parse_module(const std::string& text, const Place& place, const Contraction& contraction = {});

}  // namespace weft::cuda_device
