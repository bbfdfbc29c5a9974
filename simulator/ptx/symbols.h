// SPDX-License-Identifier: Apache-2.0
// Names in PTX: variables with their addresses, and registers with their places in the register file of a warp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/ptx/instruction.h"

namespace weft::cuda_device {

// A declaration as in ".shared .align 16 .b8 name[128]" or ".global .f32 name = ...", without the value.
struct VariableDeclaration {
  std::string name;
  size_t alignment = 1, element_bytes = 1, bytes = 0;
  bool is_external = false;  // has no extent: dynamic shared memory
};
// Throws std::invalid_argument.
VariableDeclaration parse_variable(std::string_view text);

// Gives `declaration` the next aligned place after `*bytes`, and returns it.
size_t place_variable(const VariableDeclaration& declaration, size_t* bytes);

using Symbols = std::map<std::string, uint64_t, std::less<>>;  // name -> address, or offset within its space

// The registers of a kernel. Braces open scopes, whose names hide names outside.
class Registers {
 public:
  Registers();

  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }
  bool in_scope() const { return scopes_.size() > 1; }
  void declare(std::string_view text);  // ".b32 %r<12>", ".pred p, q"
  std::optional<Operand> find(std::string_view name) const;

  // A register of this width for a value without a name.
  Operand add(int width);
  size_t bytes() const { return bytes_; }

 private:
  struct Range {  // name, or name0 ... name(count - 1)
    Operand first;
    int count = 0;  // 0: the plain name
  };
  using Scope = std::map<std::string, Range, std::less<>>;

  std::vector<Scope> scopes_;
  size_t bytes_ = 0;
};

}  // namespace weft::cuda_device
