# SPDX-License-Identifier: Apache-2.0
# cuDNN, for attention on CUDA devices, where its headers are: -DWEFT_CUDNN=AUTO (the default) says in one line what it
# found, ON insists, OFF does without. cudnn.h lies beside CUDA's headers or in a Python environment; cudnn_frontend.h
# comes with the wheel nvidia-cudnn-frontend: it is looked for where -DWEFT_CUDNN_FRONTEND=DIR says, else in build/wheels,
# where launch/test.sh installs it, and in the Python environment.
#
# Sets WEFT_CUDNN_FOUND, and weft_cudnn_flags: what the files that include these headers are compiled with. Nothing is
# linked: the library is opened where a job asks for it (kernels/cuda/cudnn/library.cpp).
weft_optional(WEFT_CUDNN "Build for cuDNN's attention")
set(WEFT_CUDNN_FRONTEND "" CACHE PATH "Folder of cudnn_frontend.h; empty means look for it")
set(WEFT_CUDNN_FOUND FALSE)

# What #defines of a header state, joined by dots.
function(weft_stated_version result header)
  file(READ ${header} text)
  set(version "")
  foreach(name ${ARGN})
    string(REGEX MATCH "#define ${name} +([0-9]+)" line "${text}")
    list(APPEND version ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN version "." version)
  set(${result} ${version} PARENT_SCOPE)
endfunction()

# Sets the folders `cudnn` and `frontend` with their versions, or `problem`.
macro(weft_find_cudnn)
  weft_python_folders(python)
  list(TRANSFORM python APPEND /nvidia/cudnn/include OUTPUT_VARIABLE cudnn_wheels)
  list(TRANSFORM python APPEND /include OUTPUT_VARIABLE frontend_wheels)
  set(problem "")
  find_path(cudnn cudnn_version.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cudnn_wheels} NO_CACHE)
  if(WEFT_CUDNN_FRONTEND)
    find_path(frontend cudnn_frontend_version.h PATHS ${WEFT_CUDNN_FRONTEND} NO_DEFAULT_PATH NO_CACHE)
  else()
    find_path(frontend cudnn_frontend_version.h
      HINTS ${PROJECT_SOURCE_DIR}/build/wheels/include PATHS ${frontend_wheels} NO_CACHE)
  endif()
  if(NOT cudnn)
    set(problem "no cudnn.h is found; it belongs beside CUDA's headers")
  elseif(NOT frontend)
    string(CONCAT problem "no cudnn_frontend.h is found; `pip install nvidia-cudnn-frontend` brings it, "
      "or say where it is with -DWEFT_CUDNN_FRONTEND=DIR")
  else()
    weft_stated_version(cudnn_version ${cudnn}/cudnn_version.h CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL)
    weft_stated_version(frontend_version ${frontend}/cudnn_frontend_version.h
      CUDNN_FRONTEND_MAJOR_VERSION CUDNN_FRONTEND_MINOR_VERSION CUDNN_FRONTEND_PATCH_VERSION)
    if(cudnn_version VERSION_LESS 9.12 OR cudnn_version VERSION_GREATER_EQUAL 10)
      set(problem "cudnn.h is of version ${cudnn_version}, and 9.12 or a later 9 is needed")
    elseif(frontend_version VERSION_LESS 1.32)
      set(problem "cudnn_frontend.h is of version ${frontend_version}, and 1.32 is needed")
    endif()
  endif()
endmacro()

set(problem "-DWEFT_CUDNN=OFF")
if(NOT WEFT_CUDNN STREQUAL "OFF")
  weft_find_cudnn()
endif()
if(problem)
  weft_without(WEFT_CUDNN "without cuDNN" "${problem}" "Mend that")
else()
  set(WEFT_CUDNN_FOUND TRUE)
  set(weft_cudnn_flags -isystem ${frontend} -isystem ${cudnn})
  message(STATUS "weft: cuDNN ${cudnn_version}, described with cudnn-frontend ${frontend_version}")
endif()
