# SPDX-License-Identifier: Apache-2.0
# What weft is built with where it is found: a setting that is AUTO (the default), ON, which insists, or OFF.

# weft_optional(WEFT_CUDA "Build for CUDA devices"): declares the setting.
macro(weft_optional name help)
  set(${name} AUTO CACHE STRING "${help}: AUTO where it is found, ON, OFF")
  set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT ${name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "  -D${name}=${${name}}: say AUTO, ON or OFF")
  endif()
endmacro()

# weft_without(WEFT_CUDA "CPU only" "no CUDA compiler is found" "Say where ..."): one line says that it is done without, and
# why; where the setting insists, the configuration ends with what to do.
function(weft_without name without reason hint)
  if(${name} STREQUAL "ON")
    message(FATAL_ERROR "  -D${name}=ON, but ${reason}. ${hint}, or do without it: -D${name}=OFF")
  endif()
  message(STATUS "weft: ${without} (${reason})")
endfunction()

# Where Python looks for packages.
function(weft_python_folders result)
  find_program(python3 python3 NO_CACHE)
  set(folders "")
  if(python3)
    execute_process(COMMAND ${python3} -c "import sys; print(';'.join(filter(None, sys.path)), end='')"
      OUTPUT_VARIABLE folders ERROR_QUIET)
  endif()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()
