# SPDX-License-Identifier: Apache-2.0
# What weft is built on. Each is found, then proven by a small program (cmake/WeftDependency.cmake).
include(WeftDependency)
include(WeftOptional)

find_package(Threads REQUIRED)

# mpiexec is that of the chosen compiler: FindMPI would take the first on the PATH, which may be another MPI's.
if(MPI_CXX_COMPILER AND NOT MPIEXEC_EXECUTABLE)
  get_filename_component(folder ${MPI_CXX_COMPILER} DIRECTORY)
  string(REGEX MATCH "\\.[a-z]+$" kind "${MPI_CXX_COMPILER}") # mpicxx.mpich
  find_program(MPIEXEC_EXECUTABLE NAMES mpiexec${kind} mpiexec PATHS ${folder} NO_DEFAULT_PATH)
endif()
find_package(MPI QUIET COMPONENTS CXX)
if(TARGET MPI::MPI_CXX)
  # The C++ bindings that MPI dropped in version 3 are neither used nor warned about.
  target_compile_definitions(MPI::MPI_CXX INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()
weft_dependency(MPI TARGETS MPI::MPI_CXX ELSEWHERE "say which with -DMPI_CXX_COMPILER=/path/of/mpicxx")

set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 QUIET COMPONENTS C)
if(HDF5_FOUND AND NOT TARGET weft_hdf5_files)
  add_library(weft_hdf5_files INTERFACE IMPORTED GLOBAL)
  target_include_directories(weft_hdf5_files SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
  target_link_libraries(weft_hdf5_files INTERFACE ${HDF5_C_LIBRARIES})
endif()
weft_dependency(HDF5 TARGETS weft_hdf5_files ELSEWHERE "say where it is with -DHDF5_ROOT=DIR")

if(WEFT_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND)
    message(FATAL_ERROR "weft needs OpenMP: use g++, or install libomp-dev for clang, or configure with -DWEFT_OPENMP=OFF")
  endif()
  target_link_libraries(weft_compiler INTERFACE OpenMP::OpenMP_CXX)
endif()

weft_dependency(oneDNN HEADERS dnnl.hpp LIBRARIES dnnl)
weft_dependency(yaml-cpp HEADERS yaml-cpp/yaml.h LIBRARIES yaml-cpp)
weft_dependency(fmt HEADERS fmt/format.h LIBRARIES fmt)
weft_dependency(spdlog HEADERS spdlog/spdlog.h LIBRARIES spdlog fmt)
weft_dependency(nlohmann-json HEADERS nlohmann/json.hpp)
weft_dependency(CLI11 HEADERS CLI/CLI.hpp)
weft_dependency(PCRE2 HEADERS pcre2.h LIBRARIES pcre2-8)
weft_dependency(utf8proc HEADERS utf8proc.h LIBRARIES utf8proc)
weft_dependency(xxHash HEADERS xxhash.h LIBRARIES xxhash)
weft_dependency(zlib HEADERS zlib.h LIBRARIES z)
weft_optional(WEFT_ZSTD "Read text that is compressed with zstd")
weft_dependency(zstd OPTIONAL WEFT_ZSTD HEADERS zstd.h LIBRARIES zstd)
if(WEFT_TESTS)
  weft_dependency(GoogleTest HEADERS gtest/gtest.h gmock/gmock.h LIBRARIES gtest_main gmock gtest)
endif()
weft_end_of_dependencies()
