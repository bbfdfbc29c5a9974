// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/files.h"

namespace weft {

// What a page shows, which decides its scripts.
enum class PageKind : uint8_t { Report, Attention, Statistics, Vectors };

// One file of HTML that needs no other: styles and scripts are in it, it asks no network for anything, and its policy
// (Content-Security-Policy) lets it run these scripts alone. They fill <main id="page">, which follows `body`: markup,
// in which what data and models say is only as json_block().
std::string page_html(PageKind kind, std::string_view body);

// Writes a page atomically. DataError if the name is taken by anything else than a page that weft wrote.
void write_page(const fs::path& file, std::string_view page);
// DataError if write_page() would refuse this name; commands ask before they begin to work.
void require_replaceable(const fs::path& file);

}  // namespace weft
