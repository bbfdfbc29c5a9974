# weft_room(NAME ROOMS base kernels ... SOURCES a.cpp b.cpp ... LINK dnnl ...)
#
# One library target per room. Sources include as "room/file.h". Each room's headers are reached through a
# folder of links that holds this room alone, so a room that is not listed in ROOMS cannot be included.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;SOURCES;LINK" ${ARGN})
  set(view ${CMAKE_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${name} ${view}/${name} SYMBOLIC)
  add_library(weft_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(weft_${name} PUBLIC ${view})
  list(TRANSFORM ROOM_ROOMS PREPEND weft_)
  target_link_libraries(weft_${name} PUBLIC weft_compiler ${ROOM_ROOMS} ${ROOM_LINK})
endfunction()
