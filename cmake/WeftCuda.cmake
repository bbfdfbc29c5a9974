# SPDX-License-Identifier: Apache-2.0
# The CUDA backend, where there is a compiler for it: -DWEFT_CUDA=AUTO (the default) looks for nvcc and says in one line
# what it found, ON insists, OFF does without. The compiler is the one of CMAKE_CUDA_COMPILER or CUDACXX, of
# CUDAToolkit_ROOT, or on the PATH; a toolkit from Python wheels works like an installed one. clang++ as
# CMAKE_CUDA_COMPILER compiles with the toolkit of CUDAToolkit_ROOT, whose nvcc tells CMake the version.
#
# Sets WEFT_CUDA_FOUND. weft_cuda_runtime is what links with the runtime; cuBLASLt is opened when a device is first used
# (kernels/cuda/products/blas_library.h), since loading it costs a process 0.1 s and 190 MB that the CPU has no use for.
include(WeftCudaVersions)
weft_optional(WEFT_CUDA "Build for CUDA devices")
set(WEFT_CUDA_ARCHITECTURES "80-real;90-real;80-virtual" CACHE STRING
  "Machine code for these, and PTX that newer devices compile for themselves")
set(WEFT_CUDA_FOUND FALSE)

function(weft_no_cuda reason)
  weft_without(WEFT_CUDA "CPU only" "${reason}" "Say where the toolkit is with -DCUDAToolkit_ROOT=DIR")
endfunction()

# Toolkits of Python wheels keep their libraries in lib/, where nvcc looks into lib64/, and without the name that linkers
# look for. Left alone, CMake would take another toolkit's runtime, or find none.
macro(weft_accept_wheels)
  cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH weft_cuda_bin)
  cmake_path(GET weft_cuda_bin PARENT_PATH weft_cuda_root)
  file(GLOB weft_cuda_runtimes ${weft_cuda_root}/lib/libcudart.so.*)
  if(weft_cuda_runtimes AND NOT EXISTS ${weft_cuda_root}/lib64)
    list(GET weft_cuda_runtimes 0 weft_cuda_first_runtime)
    set(CUDA_CUDART ${weft_cuda_first_runtime} CACHE FILEPATH "CUDA's runtime")
    set(CUDA_cudart_LIBRARY ${weft_cuda_first_runtime} CACHE FILEPATH "CUDA's runtime")
    set(CMAKE_CUDA_FLAGS "-L${weft_cuda_root}/lib" CACHE STRING "Flags of the CUDA compiler")
  endif()
endmacro()

# The nvcc whose version decides: the compiler itself, or for clang++ that of the toolkit.
function(weft_nvcc result)
  set(nvcc "${CMAKE_CUDA_COMPILER}")
  if(NOT nvcc AND DEFINED ENV{CUDACXX})
    set(nvcc "$ENV{CUDACXX}")
  endif()
  if(CUDAToolkit_ROOT AND (NOT nvcc OR nvcc MATCHES "clang"))
    set(nvcc ${CUDAToolkit_ROOT}/bin/nvcc)
  endif()
  if(NOT nvcc OR nvcc MATCHES "clang")
    unset(nvcc)
    find_program(nvcc nvcc NO_CACHE)
  endif()
  set(${result} "${nvcc}" PARENT_SCOPE)
endfunction()

macro(weft_find_cuda)
  include(CheckLanguage)
  if(CUDAToolkit_ROOT AND NOT CMAKE_CUDA_COMPILER AND EXISTS ${CUDAToolkit_ROOT}/bin/nvcc)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_ROOT}/bin/nvcc CACHE FILEPATH "CUDA compiler")
  endif()
  weft_nvcc(weft_nvcc)
  weft_cuda_refusal(weft_cuda_reason "${weft_nvcc}" "${WEFT_CUDA_ARCHITECTURES}")
  # Also when CMake only tries whether the compiler works: without it nvcc is asked for its own choice.
  set(CMAKE_CUDA_ARCHITECTURES ${WEFT_CUDA_ARCHITECTURES})
  if(CMAKE_CUDA_COMPILER MATCHES "clang")
    weft_clang_architectures(CMAKE_CUDA_ARCHITECTURES "${WEFT_CUDA_ARCHITECTURES}")
  endif()
  if(NOT weft_cuda_reason)
    check_language(CUDA)
  endif()
  if(weft_cuda_reason)
    weft_no_cuda("${weft_cuda_reason}")
  elseif(NOT CMAKE_CUDA_COMPILER)
    weft_no_cuda("no CUDA compiler is found")
  else()
    weft_accept_wheels()
    if(WEFT_CCACHE)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${WEFT_COMPILER_LAUNCHER})
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(NOT TARGET CUDA::cudart OR NOT EXISTS ${CUDAToolkit_INCLUDE_DIRS}/cublasLt.h)
      weft_no_cuda("${CMAKE_CUDA_COMPILER} is there, but not the runtime's library and cublasLt.h beside it")
    else()
      set(WEFT_CUDA_FOUND TRUE)
    endif()
  endif()
endmacro()

if(WEFT_CUDA STREQUAL "OFF")
  weft_no_cuda("-DWEFT_CUDA=OFF")
else()
  weft_find_cuda()
endif()

if(WEFT_CUDA_FOUND)
  # Linked by its path below: wheels have no name for it that -lcudart finds.
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know yet that nvcc speaks C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  # The toolkit's headers come before another CUDA's in /usr/local/include.
  set(weft_clang_cuda_options -isystem ${CUDAToolkit_INCLUDE_DIRS} -gline-tables-only -Wno-unknown-cuda-version
    -Wno-unknown-attributes "SHELL:-Xcuda-fatbinary --compress=false")
  add_library(weft_cuda_runtime INTERFACE)
  target_link_libraries(weft_cuda_runtime INTERFACE CUDA::cudart)
  # -no-compress: programs other than the driver can read the PTX. -lineinfo: reports name source lines.
  target_compile_options(weft_cuda_runtime INTERFACE
    $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-no-compress -lineinfo -Werror=cross-execution-space-call -Xcompiler=-Wall,-Wextra,-Werror=switch>
    $<$<COMPILE_LANG_AND_ID:CUDA,Clang>:${weft_clang_cuda_options}>)
  string(REPLACE ";" " " weft_cuda_architectures "${WEFT_CUDA_ARCHITECTURES}")
  set(weft_cuda_compiler "")
  if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
    set(weft_cuda_compiler ", compiled by ${CMAKE_CUDA_COMPILER_ID} ${CMAKE_CUDA_COMPILER_VERSION},")
  endif()
  message(STATUS "weft: CUDA ${CUDAToolkit_VERSION}${weft_cuda_compiler} for ${weft_cuda_architectures}")
  include(WeftCudnn)
endif()
