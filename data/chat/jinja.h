// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "data/chat/template.h"

namespace weft {

// The template in Jinja, as `transformers` renders it (apply_chat_template), for tokenizer_config.json.
std::string jinja_of(const ChatTemplate& form);

}  // namespace weft
