// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace weft {

// The manual page of the program, section 1, as groff's man macros: every command with its options, from the
// definitions that also print the help.
std::string manual_page(const CLI::App& program, const std::string& version);

}  // namespace weft
