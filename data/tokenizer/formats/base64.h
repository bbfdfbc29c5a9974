// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace weft {

// Base64 (RFC 4648) with padding.
std::optional<std::string> read_base64(std::string_view text);  // nullopt if the text is empty or not valid
std::string write_base64(std::string_view bytes);

}  // namespace weft
