# SPDX-License-Identifier: Apache-2.0
# weft_room(NAME ROOMS base kernels ... [FOLDERS device] [INSIDE cpu] [PUBLIC x.h ...] [HIDDEN y.h ...]
#           [EXCEPT main.cpp ...] [LINK dnnl ...])
#
# One library target per room: weft_NAME, where a sub-room "data/tokenizer" is weft_data_tokenizer. It is made of all
# sources of its folder, of FOLDERS and of INSIDE, but for those that EXCEPT names. Headers are included as
# "room/file.h" and found through folders of links:
#   <build>/include/NAME         the room's public headers, for the rooms and tests that list it
#   <build>/include/NAME.inside  all its headers, for its own sources
# A room sees its own headers and those of the rooms that it lists, no others: what is not listed cannot be included,
# neither a room, nor a sub-room of a room that is, nor a private header. All headers of the room's folder and of
# FOLDERS (kernels/ops) are public, but for those that HIDDEN names; where PUBLIC names some, these alone are. INSIDE
# names folders that are private as a whole (kernels/cpu). Headers that come in through other rooms' headers are seen
# too, so ROOMS lists the rooms of all headers that a room's sources reach: tests/structure holds it to just these.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;FOLDERS;INSIDE;PUBLIC;HIDDEN;EXCEPT;LINK" ${ARGN})
  weft_room_target(target ${name})
  weft_files(sources "*.cpp;*.cu" . ${ROOM_FOLDERS} ${ROOM_INSIDE})
  weft_files(headers "*.h;*.inc" . ${ROOM_FOLDERS})
  weft_files(inside "*.h;*.cuh" ${ROOM_INSIDE})
  set(all ${headers} ${inside})
  if(ROOM_PUBLIC)
    set(headers ${ROOM_PUBLIC})
  endif()
  list(REMOVE_ITEM sources ${ROOM_EXCEPT})
  list(REMOVE_ITEM headers ${ROOM_HIDDEN})
  set(view ${CMAKE_BINARY_DIR}/include/${target})
  file(REMOVE_RECURSE ${view} ${view}.inside)
  weft_link_headers(${view} ${name} ${headers})
  weft_link_headers(${view}.inside ${name} ${all})

  add_library(${target} STATIC ${sources})
  weft_unity(${target})
  target_include_directories(${target} PRIVATE ${view}.inside INTERFACE ${view})
  set(below)
  foreach(room ${ROOM_ROOMS})
    weft_room_target(other ${room})
    list(APPEND below ${other})
  endforeach()
  # Linking passes on what a room is made of; seeing does not.
  target_link_libraries(${target} PUBLIC weft_compiler ${ROOM_LINK} PRIVATE ${below})
  set_property(GLOBAL PROPERTY ${target}_ROOMS ${below})
endfunction()

# weft_unity(TARGET): with WEFT_UNITY its files are compiled eight at a time. Most of what g++ does for a file is to read
# headers and to make what their templates need, which the eight share.
function(weft_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(WEFT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes a source that another file includes for a header, whose nameless namespaces would be each reader's own.
    weft_cxx_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# weft_files(RESULT PATTERNS FOLDER...): the files of these folders, their paths relative to the room's; a file that is
# added or removed is noticed by the next build.
function(weft_files result patterns)
  set(found)
  foreach(folder ${ARGN})
    foreach(pattern ${patterns})
      file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${pattern})
      list(APPEND found ${files})
    endforeach()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(weft_room_target result name)
  string(REPLACE "/" "_" path ${name})
  set(${result} weft_${path} PARENT_SCOPE)
endfunction()

function(weft_link_headers view name)
  file(MAKE_DIRECTORY ${view}/${name})
  foreach(header ${ARGN})
    cmake_path(GET header PARENT_PATH folder)
    file(MAKE_DIRECTORY ${view}/${name}/${folder})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${view}/${name}/${header} SYMBOLIC)
  endforeach()
endfunction()

# A room's target and those of all rooms below it, for programs that may use them all.
function(weft_rooms_up_to result name)
  weft_room_target(target ${name})
  set(found ${target})
  set(waiting ${target})
  while(waiting)
    list(POP_FRONT waiting next)
    get_property(below GLOBAL PROPERTY ${next}_ROOMS)
    list(REMOVE_ITEM below ${found})
    list(APPEND found ${below})
    list(APPEND waiting ${below})
  endwhile()
  list(REMOVE_DUPLICATES found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()
