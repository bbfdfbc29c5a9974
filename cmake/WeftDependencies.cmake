# Every dependency is probed by compiling and linking a small program, so that a missing one is one line here
# and not a page of errors later.
include(CheckCXXSourceCompiles)

function(weft_require name package source)
  cmake_parse_arguments(DEP "" "" "LINK;INCLUDE" ${ARGN})
  set(CMAKE_REQUIRED_LIBRARIES ${DEP_LINK})
  set(CMAKE_REQUIRED_INCLUDES ${DEP_INCLUDE})
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("${source}" WEFT_HAS_${name})
  if(NOT WEFT_HAS_${name})
    unset(WEFT_HAS_${name} CACHE)
    message(FATAL_ERROR "weft needs ${name}: install the Debian package ${package} (or point CMAKE_PREFIX_PATH at it)")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(FATAL_ERROR "weft needs MPI: install the Debian packages libopenmpi-dev openmpi-bin (or set -DMPI_CXX_COMPILER=...)")
endif()
# The C++ bindings that MPI dropped in version 3 are neither used nor warned about.
target_compile_definitions(MPI::MPI_CXX INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 QUIET COMPONENTS C)
if(NOT HDF5_FOUND)
  message(FATAL_ERROR "weft needs HDF5: install the Debian package libhdf5-dev (or set -DHDF5_ROOT=...)")
endif()
add_library(weft_hdf5 INTERFACE)
target_include_directories(weft_hdf5 INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(weft_hdf5 INTERFACE ${HDF5_C_LIBRARIES})

if(WEFT_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND)
    message(FATAL_ERROR "weft needs OpenMP: use g++, or install libomp-dev for clang, or configure with -DWEFT_OPENMP=OFF")
  endif()
  target_link_libraries(weft_compiler INTERFACE OpenMP::OpenMP_CXX)
endif()

weft_require(oneDNN libdnnl-dev "#include <dnnl.hpp>
int main() { return dnnl::engine(dnnl::engine::kind::cpu, 0).get_kind() != dnnl::engine::kind::cpu; }" LINK dnnl)
weft_require(yaml-cpp libyaml-cpp-dev "#include <yaml-cpp/yaml.h>
int main() { return YAML::Load(\"1\").as<int>() - 1; }" LINK yaml-cpp)
weft_require(spdlog libspdlog-dev "#include <spdlog/spdlog.h>
int main() { spdlog::debug(\"x\"); }" LINK spdlog fmt)
weft_require(nlohmann-json nlohmann-json3-dev "#include <nlohmann/json_fwd.hpp>
int main() {}")
weft_require(CLI11 libcli11-dev "#include <CLI/Version.hpp>
int main() {}")
weft_require(PCRE2 libpcre2-dev "#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
int main() { return pcre2_config(PCRE2_CONFIG_JIT, nullptr) > 100; }" LINK pcre2-8)
weft_require(xxHash libxxhash-dev "#include <xxhash.h>
int main() { return XXH3_64bits(nullptr, 0) == 0; }" LINK xxhash)
weft_require(zlib zlib1g-dev "#include <zlib.h>
int main() { return zlibVersion()[0] == 0; }" LINK z)

message(STATUS "weft: CPU only (no CUDA code in this version)")
