# SPDX-License-Identifier: Apache-2.0
# Curves in pages (weft report): -DWEFT_PAGES=AUTO (the default) draws them by dygraphs where it is found (in dygraphs_ROOT,
# or where systems keep scripts), ON insists, OFF does without: pages then have still pictures.
#
# Sets WEFT_PAGES_FOUND, and the files dygraphs_script, dygraphs_style and dygraphs_licence, which are compiled into weft.
weft_optional(WEFT_PAGES "Draw curves in pages by dygraphs")
set(WEFT_PAGES_FOUND FALSE)
set(where PATHS /usr/share/javascript/dygraphs /usr/share/doc/libjs-dygraphs NO_DEFAULT_PATH)
if(DEFINED dygraphs_ROOT)
  set(where PATHS ${dygraphs_ROOT} ${dygraphs_ROOT}/dist NO_DEFAULT_PATH)
endif()
find_file(dygraphs_script dygraph.min.js ${where} NO_CACHE)
find_file(dygraphs_style dygraph.css ${where} NO_CACHE)
find_file(dygraphs_licence NAMES copyright LICENSE.txt LICENSE ${where} NO_CACHE)

if(WEFT_PAGES STREQUAL "OFF")
  weft_without(WEFT_PAGES "pages without dygraphs" "-DWEFT_PAGES=OFF" "")
elseif(NOT dygraphs_script OR NOT dygraphs_style OR NOT dygraphs_licence)
  weft_packages_of(dygraphs package)
  weft_without(WEFT_PAGES "pages without dygraphs" "dygraph.min.js, dygraph.css or its licence is not found"
    "Install ${package} (Debian), or say where they are with -Ddygraphs_ROOT=DIR")
else()
  set(WEFT_PAGES_FOUND TRUE)
  message(STATUS "weft: pages by ${dygraphs_script}")
endif()
