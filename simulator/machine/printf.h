// SPDX-License-Identifier: Apache-2.0
// printf and assert in a kernel.
#pragma once

#include <cstdint>
#include <string>

namespace weft::cuda_device {

struct Warp;

// The text that begins at a generic address, up to its zero.
std::string text_at(const Warp& w, int lane, uint64_t address);

// Prints at once to standard output, as printf would. `arguments` is the generic address of the values, each at a
// multiple of its size; floats are doubles, as in C.
void print_formatted(const Warp& w, int lane, uint64_t format, uint64_t arguments);

}  // namespace weft::cuda_device
