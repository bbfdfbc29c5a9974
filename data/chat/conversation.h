// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/config/fields.h"

namespace weft {

enum class ChatRole { System, User, Assistant };
template <>
struct EnumNames<ChatRole> {
  static constexpr auto kNames = enum_names<ChatRole>("system", "user", "assistant");
};

// What one side says at a time. Text is UTF-8.
struct ChatMessage {
  ChatRole role = ChatRole::User;
  std::string text;
  bool learnt = true;  // of the assistant: false if the text says that training leaves it out ("weight": 0)
  bool operator==(const ChatMessage&) const = default;
};
using Conversation = std::vector<ChatMessage>;

// The conversation in a member of the object on a line: a list of objects with `role` and `content`, as OpenAI's and
// Hugging Face's files have them, or with `from` (human, gpt, system) and `value`, as ShareGPT's. BadRecordError,
// without the place of the line, if it is something else, has no message, or has tools or parts that are no text.
Conversation read_conversation(std::string_view line, const std::string& member);

// A list of messages, from which read_messages() makes the same conversation.
std::string conversation_json(const Conversation& conversation);
Conversation read_messages(std::string_view json);

}  // namespace weft
