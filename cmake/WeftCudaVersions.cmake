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

# weft_nvcc_code(RESULT ARCHITECTURES): nvcc's option for this code, by which it makes PTX once, for the oldest of them, and
# machine code of each from it. Kernels take a third less time to compile than if each had PTX of its own, and every device
# runs what the simulated one, which reads the PTX, has run. Empty for architectures of other words ("native", or 90a, whose
# instructions no other PTX has) and for PTX of a newer one: CMake asks for these one by one.
function(weft_nvcc_code result architectures)
  set(${result} "" PARENT_SCOPE)
  set(oldest 0)
  set(code "")
  foreach(architecture ${architectures})
    if(NOT architecture MATCHES "^([0-9]+)(-real|-virtual)?$")
      return()
    endif()
    set(number ${CMAKE_MATCH_1})
    set(kind "${CMAKE_MATCH_2}")
    if(oldest EQUAL 0 OR number LESS oldest)
      set(oldest ${number})
    endif()
    if(NOT kind STREQUAL "-virtual")
      list(APPEND code sm_${number})
    endif()
    if(NOT kind STREQUAL "-real")
      list(APPEND code compute_${number})
    endif()
  endforeach()
  set(newer ${code})
  list(FILTER newer INCLUDE REGEX "^compute_")
  list(REMOVE_ITEM newer compute_${oldest})
  if(newer)
    return()
  endif()
  list(REMOVE_DUPLICATES code)
  string(REPLACE ";" "," code "${code}")
  set(${result} "--generate-code=arch=compute_${oldest},code=[${code}]" PARENT_SCOPE)
endfunction()
