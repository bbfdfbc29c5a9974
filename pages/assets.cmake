# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ source that defines weft::page_assets() (pages/assets.h), from files: STYLE; of each page of PAGES,
# the scripts in the list of its name (in their order, they become one function); and DYGRAPHS_STYLE, DYGRAPHS_SCRIPT and
# DYGRAPHS_LICENCE, which may be empty.
# Run by the build with cmake -P.
cmake_minimum_required(VERSION 3.22)

file(WRITE ${OUTPUT}.new "// Made by pages/assets.cmake.\n#include \"pages/assets.h\"\n\nnamespace weft {\nnamespace {\n\n")
set(members)

# add_asset(MEMBER TEXT_FILE): the file's bytes, and their checksum.
function(add_asset member file)
  file(READ ${file} bytes HEX)
  file(SHA256 ${file} sha256)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  file(APPEND ${OUTPUT}.new "constexpr unsigned char k_${member}[] = {${bytes}0};\n\n")
  set(members "${members}      .${member} = asset(k_${member}, sizeof k_${member} - 1, \"${sha256}\"),\n" PARENT_SCOPE)
endfunction()

# A text that may stand within an element <script> or <style>.
function(check_text text name)
  string(TOLOWER "${text}" lower)
  if(lower MATCHES "</(script|style)" OR lower MATCHES "<!--" OR lower MATCHES "\r")
    message(FATAL_ERROR "${name} has an end tag, a comment's beginning or a carriage return: it cannot be part of a page")
  endif()
endfunction()

add_asset(style ${STYLE})
foreach(page ${PAGES})
  set(script "(() => {\n'use strict';\n")
  foreach(file ${${page}})
    file(READ ${file} text)
    string(APPEND script "${text}")
  endforeach()
  string(APPEND script "})();\n")
  check_text("${script}" "pages/*.js")
  file(WRITE ${OUTPUT}.${page} "${script}")
  add_asset(${page} ${OUTPUT}.${page})
endforeach()

if(DYGRAPHS_SCRIPT)
  # Browsers would look for the source map.
  file(READ ${DYGRAPHS_SCRIPT} text)
  string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" text "${text}")
  check_text("${text}" ${DYGRAPHS_SCRIPT})
  file(WRITE ${OUTPUT}.dygraphs "${text}")
  add_asset(dygraphs_style ${DYGRAPHS_STYLE})
  add_asset(dygraphs_script ${OUTPUT}.dygraphs)
  add_asset(dygraphs_licence ${DYGRAPHS_LICENCE})
endif()

file(APPEND ${OUTPUT}.new "Asset asset(const unsigned char* bytes, size_t size, std::string_view sha256) {
  return {.text = {reinterpret_cast<const char*>(bytes), size}, .sha256 = sha256};
}

}  // namespace

const PageAssets& page_assets() {
  static const PageAssets assets = {
${members}  };
  return assets;
}

}  // namespace weft
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
