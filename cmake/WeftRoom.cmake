# SPDX-License-Identifier: Apache-2.0
# weft_room(NAME ROOMS base kernels ... SOURCES a.cpp b.cpp ... [PUBLIC x.h y.h ...] [FOLDERS device] [INSIDE cpu] [LINK dnnl ...])
#
# One library target per room: weft_NAME, where a sub-room "data/tokenizer" is weft_data_tokenizer. Headers are included
# as "room/file.h" and found through folders of links:
#   <build>/include/NAME         the room's public headers, for the rooms and tests that list it
#   <build>/include/NAME.inside  all its headers, for its own sources
# A room sees its own headers and those of the rooms that it lists, no others: what is not listed cannot be included,
# neither a room, nor a sub-room of a room that is, nor a header that its room leaves out of its PUBLIC ones (all are
# public where it names none). Headers of FOLDERS are a room's own, as if they lay in it (kernels/device); INSIDE names
# folders that are private as a whole (kernels/cpu). Headers that come in
# through other rooms' headers are seen too, so ROOMS lists the rooms of all headers that a room's sources reach:
# tests/structure holds it to just these.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;SOURCES;PUBLIC;FOLDERS;INSIDE;LINK" ${ARGN})
  weft_room_target(target ${name})
  set(view ${CMAKE_BINARY_DIR}/include/${target})
  file(REMOVE_RECURSE ${view} ${view}.inside)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.h *.inc)
  foreach(folder ${ROOM_FOLDERS})
    file(GLOB of_folder CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${folder}/*.h)
    list(APPEND headers ${of_folder})
  endforeach()
  set(all ${headers})
  foreach(folder ${ROOM_INSIDE})
    file(GLOB inside CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${folder}/*.h ${folder}/*.cuh)
    list(APPEND all ${inside})
  endforeach()
  if(ROOM_PUBLIC)
    set(headers ${ROOM_PUBLIC})
  endif()
  weft_link_headers(${view} ${name} ${headers})
  weft_link_headers(${view}.inside ${name} ${all})

  add_library(${target} STATIC ${ROOM_SOURCES})
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
