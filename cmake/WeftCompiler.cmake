# SPDX-License-Identifier: Apache-2.0
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# A compiler cache knows a file again in another checkout: paths below the sources are relative ones to it. It knows what a
# file included from what the compiler lists for ninja, which spares it to preprocess each file that is new to it.
find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  set(WEFT_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      ${WEFT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_COMPILER_LAUNCHER})
endif()

# weft_cxx_options(TARGET SCOPE OPTIONS...): for C++ alone, which CUDA's compiler would not know.
function(weft_cxx_options target scope)
  target_compile_options(${target} ${scope} "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${ARGN}>")
endfunction()

add_library(weft_compiler INTERFACE)
weft_cxx_options(weft_compiler INTERFACE -Wall -Wextra -Werror=return-type -Werror=switch -Werror=switch-enum
                 -Wno-missing-field-initializers)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  message(FATAL_ERROR "weft computes on x86-64 processors alone, and this one is ${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(WEFT_NATIVE)
  set(WEFT_MARCH native)
else()
  set(WEFT_MARCH x86-64-v2)  # kernels/cpu has code for more beside it (WeftCpuLevels)
endif()
weft_cxx_options(weft_compiler INTERFACE -march=${WEFT_MARCH})
if(WEFT_SANITIZE)
  weft_cxx_options(weft_compiler INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(weft_compiler INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
