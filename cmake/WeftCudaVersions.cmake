# SPDX-License-Identifier: Apache-2.0
# The versions of CUDA that weft is built with, and the architectures that a version compiles for: each refusal is one
# sentence with both sides, before CMake tries the compiler.

# weft_cuda_refusal(RESULT NVCC ARCHITECTURES): why weft is not built with this nvcc for these architectures; empty if it
# is. An nvcc that does not state its version is left to CMake's own checks.
function(weft_cuda_refusal result nvcc architectures)
  set(${result} "" PARENT_SCOPE)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE said ERROR_QUIET)
  if(NOT said MATCHES " V([0-9]+\\.[0-9]+\\.[0-9]+)")
    return()
  endif()
  set(version ${CMAKE_MATCH_1})
  if(version VERSION_LESS 12.4)
    set(${result} "${nvcc} is of CUDA ${version}, and 12.4 or later is needed" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${nvcc} --list-gpu-code OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX MATCHALL "sm_[0-9]+" known "${said}")
  list(TRANSFORM known REPLACE "sm_" "")
  list(REMOVE_DUPLICATES known)
  foreach(architecture ${architectures})
    string(REGEX MATCH "^[0-9]+" number "${architecture}")  # none in "native" and "all", which CMake resolves
    if(number AND number LESS 80)
      set(${result} "weft's kernels need architecture 80 or newer, and WEFT_CUDA_ARCHITECTURES has ${architecture}"
        PARENT_SCOPE)
    elseif(number AND known AND NOT number IN_LIST known)
      string(REPLACE ";" " " known "${known}")
      set(${result} "CUDA ${version} compiles for ${known}, and WEFT_CUDA_ARCHITECTURES has ${architecture}"
        PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# weft_clang_architectures(RESULT ARCHITECTURES): the same code as CMake asks clang for it. clang makes machine code for
# every architecture, so one that is listed as -real and -virtual, or as -virtual alone, is a bare number.
function(weft_clang_architectures result architectures)
  set(found "")
  foreach(architecture ${architectures})
    string(REGEX REPLACE "-.*" "" number "${architecture}")
    if(NOT architecture MATCHES "-real$")
      list(REMOVE_ITEM found ${number}-real)
      list(APPEND found ${number})
    elseif(NOT number IN_LIST found)
      list(APPEND found ${architecture})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()
