// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "data/chat/config.h"

namespace weft {

// The template that a published model has as `chat_template` (in Jinja), known by the SHA-256 of its text; none if it
// is another one. What such templates do with tools is left out: conversations have none.
std::optional<ChatConfig> published_template(std::string_view jinja);

}  // namespace weft
