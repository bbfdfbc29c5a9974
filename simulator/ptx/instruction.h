// SPDX-License-Identifier: Apache-2.0
// One decoded instruction. Registers are byte offsets into the register file of a warp: 32 consecutive lanes of the
// register's width, so that arithmetic is a loop over arrays; a predicate is one 32-bit mask of its lanes.
#pragma once

#include <cstdint>
#include <span>

namespace weft::cuda_device {

struct Warp;
struct Instruction;
using Execute = void (*)(Warp&, const Instruction&);

constexpr int kLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

// The effect of an instruction on the program counter.
enum class Flow : uint8_t { Next, Branch, Exit, BlockBarrier, WarpBarrier };

// The lanes without which an instruction is not executed: none, those that its last operand names, all of the warp.
enum class Meets : uint8_t { None, Named, Warp };

struct Operand {
  static constexpr uint8_t kPredicate = 0;  // as a width

  uint32_t place = 0;   // the byte offset in the register file
  int32_t offset = 0;   // of an address: [%rd1+16]
  uint8_t width = 4;    // bytes per lane
  bool negate = false;  // of a predicate: !%p
};

struct Instruction {
  Execute execute = nullptr;
  std::span<const Operand> operands;  // those in braces, and in [address, ...], one by one
  int32_t target = -1;                // the target of a branch
  int32_t mode = 0;                   // a parameter of the function beside its operands; each function defines it
  Operand guard;                      // @%p, @!%p
  bool guarded = false;
  Flow flow = Flow::Next;
  Meets meets = Meets::None;
  Space space = Space::Generic;
  uint8_t count = 1;    // elements per lane of a memory access
  uint8_t bytes = 4;    // the bytes of one element
  uint8_t results = 1;  // how many of the first operands are written
  bool is_signed = false;
};

}  // namespace weft::cuda_device
