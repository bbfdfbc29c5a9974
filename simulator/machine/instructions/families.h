// SPDX-License-Identifier: Apache-2.0
// The instructions by families, each in its own file with its functions and its part of the table.
#pragma once

#include <span>

#include "simulator/ptx/decoder.h"

namespace weft::cuda_device {

std::span<const TableEntry> arithmetic_instructions();       // add, mul, fma, div, min ... of integers and floats
std::span<const TableEntry> approximate_instructions();      // ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh
std::span<const TableEntry> bit_instructions();              // and, shl, lop3, prmt, popc ...
std::span<const TableEntry> comparison_instructions();       // setp, set, selp, slct
std::span<const TableEntry> conversion_instructions();       // cvt
std::span<const TableEntry> move_instructions();             // mov, cvta
std::span<const TableEntry> memory_instructions();           // ld, st
std::span<const TableEntry> atomic_instructions();           // atom, red, membar, fence
std::span<const TableEntry> warp_instructions();             // shfl, vote, match, redux
std::span<const TableEntry> matrix_instructions();           // mma, ldmatrix
std::span<const TableEntry> matrix_fragment_instructions();  // wmma
std::span<const TableEntry> async_copy_instructions();       // cp.async
std::span<const TableEntry> control_instructions();          // bra, ret, bar, call, trap

}  // namespace weft::cuda_device
