# SPDX-License-Identifier: Apache-2.0
# Parquet (weft prepare): -DWEFT_PARQUET=AUTO (the default) builds the module that reads it where Arrow's C++ libraries are
# found: in ARROW_ROOT (a prefix, or the folder of Python's package pyarrow) where that is set, else in build/arrow, into
# which launch/test.sh unpacks them, where the compiler looks, and in Python's pyarrow. ON insists, OFF does without.
#
# Sets WEFT_PARQUET_FOUND, and weft_modules, the folder of the module; weft_arrow brings Arrow's headers and libraries.
# Nothing but the module is linked to them: it is opened where a job asks for it (data/parquet/library.cpp).
weft_optional(WEFT_PARQUET "Build the module that reads Parquet")
set(WEFT_PARQUET_FOUND FALSE)
set(weft_modules ${CMAKE_BINARY_DIR}/lib/weft)
# The programs of this build look for modules there; WeftInstall says where an installed one looks.
list(APPEND CMAKE_BUILD_RPATH ${weft_modules})

# Sets arrow_include, arrow_library and parquet_library, of one version, or `problem`.
macro(weft_find_arrow)
  set(problem "")
  if(DEFINED ARROW_ROOT)
    set(where PATHS ${ARROW_ROOT} NO_DEFAULT_PATH)
  else()
    weft_python_folders(python)
    list(TRANSFORM python APPEND /pyarrow)
    set(where HINTS ${PROJECT_SOURCE_DIR}/build/arrow/pyarrow PATHS ${python})
  endif()
  find_path(arrow_include parquet/file_reader.h ${where} PATH_SUFFIXES include NO_CACHE)
  if(NOT arrow_include)
    set(problem "parquet/file_reader.h is not found")
  else()
    file(STRINGS ${arrow_include}/arrow/util/config.h line REGEX "#define ARROW_SO_VERSION ")
    string(REGEX MATCH "[0-9]+" version "${line}")
    find_library(arrow_library libarrow.so.${version} ${where} PATH_SUFFIXES . lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_CACHE)
    find_library(parquet_library libparquet.so.${version} ${where} PATH_SUFFIXES . lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_CACHE)
    if(NOT arrow_library OR NOT parquet_library)
      set(problem "libparquet.so.${version}, whose headers are in ${arrow_include}, is not found")
    endif()
  endif()
endmacro()

set(problem "-DWEFT_PARQUET=OFF")
if(NOT WEFT_PARQUET STREQUAL "OFF")
  weft_find_arrow()
endif()
if(NOT problem)
  add_library(weft_arrow INTERFACE IMPORTED)
  target_include_directories(weft_arrow SYSTEM INTERFACE ${arrow_include})
  target_link_libraries(weft_arrow INTERFACE ${parquet_library} ${arrow_library})
  weft_prove(Arrow weft_arrow "${arrow_include};${parquet_library};${arrow_library};${CMAKE_CXX_COMPILER}" problem)
endif()
if(problem)
  weft_without(WEFT_PARQUET "without Parquet" "${problem}"
    "`pip install pyarrow`, or install libparquet-dev, or say where Arrow is with -DARROW_ROOT=DIR")
else()
  set(WEFT_PARQUET_FOUND TRUE)
  message(STATUS "weft: Parquet by ${parquet_library}")
endif()
