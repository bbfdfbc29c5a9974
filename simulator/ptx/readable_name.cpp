// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/readable_name.h"

#include <cxxabi.h>

#include <cstdlib>

namespace weft::cuda_device {

std::string readable_name(const std::string& mangled) {
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr);
  if (!demangled) return mangled;
  std::string name = demangled;
  std::free(demangled);
  if (const size_t space = name.find("void "); space == 0) name.erase(0, 5);  // the result type of a template
  for (size_t at; (at = name.find("(anonymous namespace)::")) != std::string::npos;) name.erase(at, 23);
  int depth = 0;  // nesting of template arguments, which may contain parentheses: f<(Mode)1>(float*)
  for (size_t at = 0; at < name.size(); ++at) {
    depth += name[at] == '<' ? 1 : name[at] == '>' ? -1 : 0;
    if (depth == 0 && name[at] == '(') return name.substr(0, at);
  }
  return name;
}

}  // namespace weft::cuda_device
