// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace weft {

// A library that results may depend on: the version whose headers weft was compiled with, and the one that is loaded
// now. "unknown" if a library does not report it.
struct LibraryVersion {
  std::string name;
  std::string compiled;
  std::string loaded;
};

// HDF5, MPI and yaml-cpp. (oneDNN is known to kernels/cpu/products/matmul.h.) May be called before MPI_Init.
std::vector<LibraryVersion> library_versions();

}  // namespace weft
