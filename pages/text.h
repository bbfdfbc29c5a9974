// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

// What data, jobs and models say, on its way into a page. None of it is ever markup: it goes into a page as JSON that
// scripts show as text.
namespace weft {

// `text` as a reader may see it: control characters and bytes that are not UTF-8 are spelt out as by printable(), and
// so are characters that no one sees but that change what is seen around them: the marks of writing direction, of
// invisible joins and of lines (\u202e). Of a text longer than `most` bytes the beginning, and how much is left out.
std::string page_text(std::string_view text, size_t most = 4000);

// A block of JSON in a page: <script type="application/json" id="ID">. No character of it can end the element or begin
// another one, whatever the texts in `json` are.
std::string json_block(std::string_view id, const nlohmann::ordered_json& json);

}  // namespace weft
