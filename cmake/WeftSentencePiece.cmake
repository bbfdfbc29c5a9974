# SPDX-License-Identifier: Apache-2.0
# Tokenizers of kind sentencepiece: -DWEFT_SENTENCEPIECE=AUTO (the default) builds them where libsentencepiece is found (in
# SENTENCEPIECE_ROOT, or where the compiler looks), ON insists, OFF does without.
#
# Sets WEFT_SENTENCEPIECE_FOUND; weft_sentencepiece brings header and library.
weft_optional(WEFT_SENTENCEPIECE "Read SentencePiece models")
set(WEFT_SENTENCEPIECE_FOUND FALSE)
set(where)
if(DEFINED SENTENCEPIECE_ROOT)
  set(where PATHS ${SENTENCEPIECE_ROOT} NO_DEFAULT_PATH)
endif()
find_path(sentencepiece_include sentencepiece_processor.h ${where} PATH_SUFFIXES include NO_CACHE)
find_library(sentencepiece_library sentencepiece ${where} PATH_SUFFIXES lib lib64 NO_CACHE)

if(WEFT_SENTENCEPIECE STREQUAL "OFF")
  weft_without(WEFT_SENTENCEPIECE "without SentencePiece" "-DWEFT_SENTENCEPIECE=OFF" "")
elseif(NOT sentencepiece_include OR NOT sentencepiece_library)
  weft_without(WEFT_SENTENCEPIECE "without SentencePiece" "sentencepiece_processor.h or its library is not found"
    "Install libsentencepiece-dev (Debian), or say where it is with -DSENTENCEPIECE_ROOT=DIR")
else()
  set(WEFT_SENTENCEPIECE_FOUND TRUE)
  add_library(weft_sentencepiece INTERFACE)
  target_include_directories(weft_sentencepiece SYSTEM INTERFACE ${sentencepiece_include})
  target_link_libraries(weft_sentencepiece INTERFACE ${sentencepiece_library})
  message(STATUS "weft: SentencePiece by ${sentencepiece_library}")
endif()
