// A PTX module as decoded from its text: kernels whose registers are places in a register file and whose instructions
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

#include "tests/cuda_device/ptx/instruction.h"

namespace weft::cuda_device {

// A value that instructions name directly, held in a register of its own that all lanes share the value of.
struct Constant {
  Operand place;
  uint64_t bits = 0;
};

struct Parameter {
  size_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string name;  // as in the PTX, that is, mangled
  std::string file;  // of the source, without folders; empty without -lineinfo
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0;
  size_t shared_bytes = 0;      // static; dynamic shared memory starts there
  size_t local_bytes = 0;       // of one thread
  size_t register_bytes = 0;    // of one warp
  uint32_t max_threads = 1024;  // .maxntid
};

// A __device__ or __constant__ variable and where `place` put it.
struct Variable {
  uint64_t address = 0;
  size_t bytes = 0;
};

struct Module {
  std::map<std::string, std::shared_ptr<const Kernel>> kernels;
  std::map<std::string, Variable> variables;
};

// Gives a module variable its place in device memory, holding `value`.
using Place = std::function<uint64_t(const std::string& name, std::span<const std::byte> value, size_t alignment)>;

// The text holds something that is not known here: an instruction, a modifier or a type that would change a result.
// what() names the source file and line, the kernel and the instruction.
class PtxError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws PtxError.
Module parse_module(const std::string& text, const Place& place);

}  // namespace weft::cuda_device
