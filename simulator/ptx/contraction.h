// SPDX-License-Identifier: Apache-2.0
// A product of floats and a sum in which it is used are rounded once each, or together: where PTX names no rounding,
// the compiler that makes machine code of it may choose, for each pair in each kernel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/ptx/module.h"

namespace weft::cuda_device {

// What an instruction is for contraction: a product, a sum, a difference, or something else, for which `fused` is null.
struct Contractible {
  enum class Role : uint8_t { Product, Sum, Difference };
  Role role = Role::Product;
  Execute fused = nullptr;  // d, a, b, c: a * b + c, rounded once, of this instruction's type; its mode is a FusedSigns
};

// Parts of a fused instruction that are negated.
enum class FusedSigns : int32_t { None, Addend, Product };

// An instruction's operands in Kernel::operands, and what it is for contraction.
struct ParsedStatement {
  size_t first = 0, count = 0;
  Contractible contractible;
};

// Fuses those pairs within a basic block that `contraction` chooses. Products stay where they are: they may have other
// uses. Operands of fused instructions are added to those of the kernel.
void contract(Kernel& kernel, std::span<ParsedStatement> statements, const Contraction& contraction);

}  // namespace weft::cuda_device
