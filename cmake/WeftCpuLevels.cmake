# SPDX-License-Identifier: Apache-2.0
# Included by kernels/CMakeLists.txt, in a build for processors of every level: compiles kernels/cpu once more for
# x86-64-v3 and x86-64-v4. weft chooses among them when it starts (kernels/cpu/levels.h).
#
# A level's objects are linked to one, in which every symbol but the entry becomes local. Without that the linker would
# keep one copy of each inline function of the standard library for all levels, perhaps one with AVX-512 in it. Constants
# that GCC marks as unique in a process (-fgnu-unique) could not become local.
file(GLOB level_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
  ${CMAKE_CURRENT_SOURCE_DIR}/cpu/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/cpu/attention/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/cpu/exact/*.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/cpu/products/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/cpu/rows/*.cpp)
# What no level computes with exists once.
list(REMOVE_ITEM level_sources cpu/levels.cpp cpu/host_allocator.cpp cpu/host_copies.cpp cpu/threads.cpp)

foreach(level v3 v4)
  set(entry weft_cpu_backend_${level})
  add_library(weft_cpu_${level} OBJECT ${level_sources})
  target_include_directories(weft_cpu_${level} PRIVATE $<TARGET_PROPERTY:weft_kernels,INCLUDE_DIRECTORIES>)
  target_compile_definitions(weft_cpu_${level} PRIVATE $<TARGET_PROPERTY:weft_kernels,COMPILE_DEFINITIONS> WEFT_CPU_ENTRY=${entry})
  target_compile_options(weft_cpu_${level} PRIVATE $<TARGET_PROPERTY:weft_kernels,COMPILE_OPTIONS> -march=x86-64-${level}
    $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${entry}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} $<TARGET_OBJECTS:weft_cpu_${level}>
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=${entry} ${object}
    DEPENDS weft_cpu_${level} $<TARGET_OBJECTS:weft_cpu_${level}>
    COMMENT "Linking the kernels for x86-64-${level}"
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(weft_kernels PRIVATE ${object})
endforeach()
set_property(SOURCE cpu/levels.cpp device/cpu_level.cpp APPEND PROPERTY COMPILE_DEFINITIONS WEFT_CPU_LEVELS)
