// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "base/files.h"
#include "evaluate/text_attention.h"

namespace weft {

// The forms of docs/attention.md. Texts may hold parts of characters: dump() with error_handler_t::replace.
nlohmann::ordered_json attention_json(const TextAttention& attention);

}  // namespace weft
