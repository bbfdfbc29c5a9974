# SPDX-License-Identifier: Apache-2.0
# Collectives between CUDA devices: -DWEFT_NCCL=AUTO (the default) builds them where NCCL's header is found, ON insists, OFF
# does without. The header is looked for in NCCL_ROOT, beside the CUDA compiler, where Python wheels put it beside
# theirs, and where the compiler looks. The library is opened when several ranks first use devices (parallel/nccl/library.h).
#
# Sets WEFT_NCCL_FOUND; weft_nccl brings its header and CUDA's.
weft_optional(WEFT_NCCL "Exchange between CUDA devices by NCCL")
set(WEFT_NCCL_FOUND FALSE)

function(weft_no_nccl reason)
  weft_without(WEFT_NCCL "no NCCL: one rank computes on a CUDA device" "${reason}"
    "Say where NCCL is with -DNCCL_ROOT=DIR")
endfunction()

if(WEFT_NCCL STREQUAL "OFF")
  weft_no_nccl("-DWEFT_NCCL=OFF")
elseif(NOT WEFT_CUDA_FOUND)
  if(WEFT_NCCL STREQUAL "ON")
    weft_no_nccl("it is built without CUDA")
  endif()
else()
  if(DEFINED NCCL_ROOT)
    find_path(WEFT_NCCL_INCLUDE nccl.h PATHS ${NCCL_ROOT} PATH_SUFFIXES include NO_DEFAULT_PATH)
  else()
    find_path(WEFT_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_BIN_DIR}/../../nccl/include)
  endif()
  if(NOT WEFT_NCCL_INCLUDE)
    weft_no_nccl("nccl.h is not found")
  else()
    set(WEFT_NCCL_FOUND TRUE)
    add_library(weft_nccl INTERFACE)
    target_include_directories(weft_nccl SYSTEM INTERFACE ${WEFT_NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    message(STATUS "weft: NCCL by ${WEFT_NCCL_INCLUDE}/nccl.h")
  endif()
endif()
