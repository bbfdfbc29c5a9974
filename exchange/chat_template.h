// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/files.h"
#include "data/chat/config.h"

namespace weft {

// The chat template of a model as `transformers` saves it: chat_template.jinja, or chat_template in
// tokenizer_config.json, of several the one named "default". It is known if weft exported it, or by the SHA-256 of its
// text (data/chat/published.h). None if the model has no template; a warning names one that is unknown, since a model
// is of use without it.
std::optional<ChatConfig> read_chat_template(const fs::path& directory);

// Adds the template to the tokenizer_config.json among these files: in Jinja, and as read_chat_template() knows it.
void add_chat_template(const ChatConfig& chat, std::map<std::string, std::string>& files);

}  // namespace weft
