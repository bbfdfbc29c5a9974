// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace weft {

// A script or style that cmake has compiled in (pages/assets.cmake).
struct Asset {
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal
};

struct PageAssets {
  Asset style, report, attention, statistics, vectors;  // the scripts are of the page of that name
  // dygraphs (MIT), which draws curves; empty in a build without it.
  Asset dygraphs_style = {}, dygraphs_script = {}, dygraphs_licence = {};
};
const PageAssets& page_assets();

inline bool has_dygraphs() { return !page_assets().dygraphs_script.text.empty(); }

}  // namespace weft
