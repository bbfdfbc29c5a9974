# SPDX-License-Identifier: Apache-2.0
# Run at every build (cmake -P): writes OUTPUT with what `git describe` says of SOURCE, and touches it only where that
# has changed, so that a new commit compiles this one file and links the program, no more.
set(revision unknown)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} describe --always --dirty WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(described)
    set(revision ${described})
  endif()
endif()
set(text "#include \"launch/revision.h\"\n\nnamespace weft {\nconst char* git_revision() { return \"${revision}\"; }\n}  // namespace weft\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
