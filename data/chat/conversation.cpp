// SPDX-License-Identifier: Apache-2.0
#include "data/chat/conversation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "data/text/bad_records.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr const char* kForms =
    "a message is {\"role\": \"user\", \"content\": \"...\"}, or {\"from\": \"human\", \"value\": \"...\"}; roles are "
    "system, user and assistant";

[[noreturn]] void refuse(BadRecord reason, const std::string& what, std::string hint = kForms) {
  throw BadRecordError(reason, what, std::move(hint));
}

struct RoleName {
  std::string_view name;
  ChatRole role;
};
constexpr RoleName kRoleNames[] = {{"system", ChatRole::System},
                                   {"user", ChatRole::User},
                                   {"assistant", ChatRole::Assistant},
                                   {"human", ChatRole::User},
                                   {"gpt", ChatRole::Assistant}};

ChatRole role_of(const std::string& name, size_t message) {
  for (const RoleName& known : kRoleNames) {
    if (known.name == name) return known.role;
  }
  refuse(BadRecord::Malformed, fmt::format("message {} has the role \"{}\"", message, excerpt(name)));
}

const std::string* text_of(const Json& message, const char* name) {
  const auto at = message.find(name);
  return at == message.end() ? nullptr : at->get_ptr<const std::string*>();
}

ChatMessage read_message(const Json& json, size_t message) {
  if (!json.is_object()) refuse(BadRecord::Malformed, fmt::format("message {} is no object", message));
  for (const char* unknown : {"tool_calls", "function_call", "reasoning_content"}) {
    const auto at = json.find(unknown);
    if (at == json.end() || at->is_null() || at->empty()) continue;
    refuse(BadRecord::Malformed, fmt::format("message {} has `{}`, which weft does not read", message, unknown),
           "write what the model should learn as text of `content`; thoughts between <think> and </think> before it");
  }
  const bool shares = json.contains("from");
  const std::string* role = text_of(json, shares ? "from" : "role");
  const std::string* text = text_of(json, shares ? "value" : "content");
  if (role == nullptr || text == nullptr) {
    refuse(BadRecord::Malformed,
           fmt::format("message {} has no text in `{}`", message,
                       role == nullptr ? (shares ? "from" : "role") : (shares ? "value" : "content")));
  }
  if (text->find('\0') != std::string::npos) {
    refuse(BadRecord::Nul, fmt::format("message {} has a NUL character: this is not text", message), "leave it out");
  }
  ChatMessage result{.role = role_of(*role, message), .text = *text};
  if (const auto weight = json.find("weight"); weight != json.end()) {
    if (*weight != 0 && *weight != 1) {
      refuse(BadRecord::Malformed, fmt::format("message {} has a weight that is neither 0 nor 1", message));
    }
    result.learnt = *weight == 1;
  }
  return result;
}

Conversation read_list(const Json& list) {
  Conversation conversation;
  for (const Json& message : list) conversation.push_back(read_message(message, conversation.size()));
  return conversation;
}

Json parsed(std::string_view text) {
  try {
    return parse_json(text, "a conversation");
  } catch (const DataError& error) {
    const std::string_view what = error.what();  // its end may repeat the line
    refuse(BadRecord::NotJson, fmt::format("not a line of JSON: {}", what.substr(0, what.find("; last read"))),
           "each line is one JSON object; of an array `jq -c '.[]' FILE` makes such lines");
  }
}

}  // namespace

Conversation read_conversation(std::string_view line, const std::string& member) {
  const Json json = parsed(line);
  if (!json.is_object()) refuse(BadRecord::NoObject, "the line is no JSON object");
  const auto list = json.find(member);
  if (list == json.end() || !list->is_array()) {
    refuse(BadRecord::NoField, fmt::format("the object has no list \"{}\"", member),
           "data.messages_field names the member that holds the messages");
  }
  if (list->empty()) refuse(BadRecord::Malformed, fmt::format("\"{}\" has no message", member));
  return read_list(*list);
}

std::string conversation_json(const Conversation& conversation) {
  Json list = Json::array();
  for (const ChatMessage& message : conversation) {
    list.push_back({{"role", enum_name(message.role)}, {"content", message.text}});
    if (!message.learnt) list.back()["weight"] = 0;
  }
  return list.dump();
}

Conversation read_messages(std::string_view json) {
  const Json list = parsed(json);
  if (!list.is_array()) refuse(BadRecord::Malformed, "no list of messages");
  return read_list(list);
}

}  // namespace weft
