// SPDX-License-Identifier: Apache-2.0
// One .entry of a PTX module.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/ptx/module.h"
#include "simulator/ptx/symbols.h"

namespace weft::cuda_device {

// Declarations that kernels of a module share.
struct ModuleScope {
  Symbols variables;                                  // .global, .const: addresses
  std::map<std::string, VariableDeclaration> shared;  // of the module: each kernel that names one has it
  std::vector<std::string> dynamic_shared;            // .extern .shared
  std::map<int, std::string> files;                   // file names of .loc, without folders
  Contraction contraction;
};

// `head` is ".entry name(parameters) .maxntid ...", `body` the text in its braces. Throws PtxError.
std::shared_ptr<const Kernel> parse_kernel(std::string_view head, std::string_view body, const ModuleScope& module);

}  // namespace weft::cuda_device
