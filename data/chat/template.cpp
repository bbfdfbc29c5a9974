// SPDX-License-Identifier: Apache-2.0
#include "data/chat/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/chat/known_templates.h"
#include "data/text/unicode_properties.h"

namespace weft {
namespace {

constexpr std::string_view kText = "{text}";
constexpr std::string_view kThought = "<think>", kThoughtEnd = "</think>";

ChatForm form_of(const char* key, const std::string& form) {
  const size_t at = form.find(kText);
  if (at == std::string::npos || form.find(kText, at + 1) != std::string::npos) {
    throw ConfigError(fmt::format("data.chat.{} is \"{}\", and must have {{text}} once", key, form),
                      "{text} stands for what is said, as in \"<|user|>\\n{text}<|end|>\\n\"");
  }
  return {.before = form.substr(0, at), .after = form.substr(at + kText.size())};
}

ChatTemplate own_template(const ChatConfig& config) {
  ChatTemplate own{.begin = config.begin,
                   .system = {},
                   .user = form_of("user_form", config.user_form),
                   .assistant = form_of("assistant_form", config.assistant_form)};
  std::string& before = own.assistant.before;
  const size_t end = before.find_last_not_of(' ') + 1;
  own.lead = before.substr(end);
  before.resize(end);
  if (config.system_form.empty()) {
    own.system_place = SystemPlace::FirstUser;
  } else {
    own.system = form_of("system_form", config.system_form);
  }
  return own;
}

bool is_white(std::string_view character) {
  const Utf8Char c = utf8_at(character.data(), character.data() + character.size());
  return c.valid() && (character_properties(c.code_point) & kSpace) != 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char first = utf8_at(text.data(), text.data() + text.size());
    if (!is_white(text)) break;
    text.remove_prefix(static_cast<size_t>(first.length));
  }
  while (!text.empty()) {
    size_t at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    if (!is_white(text.substr(at))) break;
    text.remove_suffix(text.size() - at);
  }
  return text;
}

std::string_view without_lines_before(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  return text;
}
std::string_view without_lines_after(std::string_view text) {
  text.remove_suffix(text.size() - (text.find_last_not_of('\n') + 1));
  return text;
}

// An assistant's message in Qwen 3's form: earlier ones lose their thoughts, and the one that answers the last question
// has a place for them, even if it has none.
std::string with_thought(const Conversation& conversation, size_t message, size_t last_question) {
  std::string_view answer = conversation[message].text, thought;
  const std::string_view text = answer;
  if (const size_t end = text.find(kThoughtEnd); end != std::string_view::npos) {
    thought = without_lines_after(text.substr(0, end));
    if (const size_t begin = thought.rfind(kThought); begin != std::string_view::npos) {
      thought.remove_prefix(begin + kThought.size());
    }
    thought = without_lines_before(thought);
    answer = without_lines_before(text.substr(text.rfind(kThoughtEnd) + kThoughtEnd.size()));
  }
  const bool is_last = message + 1 == conversation.size();
  if (message <= last_question || (!is_last && thought.empty())) return std::string(answer);
  thought = without_lines_after(without_lines_before(thought));
  return fmt::format("{}\n{}\n{}\n\n{}", kThought, thought, kThoughtEnd, without_lines_before(answer));
}

// What a tool has said stands in a user's message, and is no question.
bool is_question(const ChatMessage& message) {
  return message.role == ChatRole::User &&
         !(message.text.starts_with("<tool_response>") && message.text.ends_with("</tool_response>"));
}

// Renders one conversation, of which the system's first text may have been taken to another place.
class Rendering {
 public:
  Rendering(const ChatTemplate& form, ChatLoss loss) : form_(form), loss_(loss) {}

  std::vector<ChatPiece> render(const Conversation& all) {
    put(form_.begin, true, false);
    const Conversation& rest = open(all);
    check_order(rest);
    last_answer_ = last_of(rest, ChatRole::Assistant);
    const size_t last_user = last_of(rest, ChatRole::User);
    const auto question = std::find_if(rest.rbegin(), rest.rend(), is_question);
    last_question_ = question == rest.rend() ? rest.size() - 1 : static_cast<size_t>(rest.rend() - question) - 1;
    for (size_t i = 0; i < rest.size(); ++i) put_message(rest, i, last_user);
    return std::move(pieces_);
  }

 private:
  // Puts or keeps the system's text that comes first; the messages that are left.
  const Conversation& open(const Conversation& all) {
    const bool has_system = !all.empty() && all.front().role == ChatRole::System;
    if (!has_system && !form_.default_system.empty() && !form_.opening) {
      rest_ = all;
      rest_.insert(rest_.begin(), {.role = ChatRole::System, .text = form_.default_system});
      return take_system(rest_);
    }
    if (form_.opening) {
      const std::string text = has_system ? said(all.front()) : form_.default_system;
      put(form_.opening->before, true, everything());
      put(text, false, everything());
      put(form_.opening->after, true, everything());
      if (!has_system) return all;
      rest_.assign(all.begin() + 1, all.end());
      return rest_;
    }
    return take_system(all);
  }

  // Keeps the first system's text for a user's message, if the template has no form for it.
  const Conversation& take_system(const Conversation& all) {
    if (form_.system_place == SystemPlace::Message || all.empty() || all.front().role != ChatRole::System) return all;
    system_ = all.front().text;
    Conversation rest(all.begin() + 1, all.end());
    rest_ = std::move(rest);
    return rest_;
  }

  void check_order(const Conversation& rest) const {
    for (size_t i = 0; i < rest.size(); ++i) {
      if (form_.system_place != SystemPlace::Message && rest[i].role == ChatRole::System) {
        throw DataError("a system's text stands behind other messages, where the template has no place for it",
                        "put it first");
      }
      if (form_.alternates && (rest[i].role == ChatRole::User) != (i % 2 == 0)) {
        throw DataError(fmt::format("message {} is of the {}, but users and the assistant must take turns", i,
                                    enum_name(rest[i].role)),
                        "join messages of one side, and begin with the user");
      }
    }
  }

  static size_t last_of(const Conversation& conversation, ChatRole role) {
    for (size_t i = conversation.size(); i-- > 0;) {
      if (conversation[i].role == role) return i;
    }
    return conversation.size();
  }

  void put_message(const Conversation& rest, size_t i, size_t last_user) {
    const ChatMessage& message = rest[i];
    const bool answers = message.role == ChatRole::Assistant;
    const ChatForm& form = answers ? form_.assistant : message.role == ChatRole::System ? form_.system : form_.user;
    put(form.before, true, everything());
    if (message.role == ChatRole::User && takes_system(rest, i, last_user)) {
      put(*system_ + "\n\n", false, everything());
    }
    const bool learnt = everything() || (answers && message.learnt && (loss_ != ChatLoss::Last || i == last_answer_));
    if (answers) put(form_.lead, true, learnt);
    put(answers && form_.thinks ? with_thought(rest, i, last_question_) : said(message), false, learnt);
    put(form.after, true, learnt);
  }

  bool takes_system(const Conversation& rest, size_t i, size_t last_user) const {
    if (!system_) return false;
    if (form_.system_place == SystemPlace::FirstUser) return i == first_user(rest);
    return i == last_user && i + 1 == rest.size();
  }
  static size_t first_user(const Conversation& rest) {
    const auto at = std::ranges::find(rest, ChatRole::User, &ChatMessage::role);
    return static_cast<size_t>(at - rest.begin());
  }

  std::string said(const ChatMessage& message) const {
    const bool trims = form_.trims || (form_.trims_answers && message.role == ChatRole::Assistant);
    return std::string(trims ? trimmed(message.text) : std::string_view(message.text));
  }
  bool everything() const { return loss_ == ChatLoss::All; }
  void put(std::string text, bool is_form, bool learnt) {
    if (!text.empty()) pieces_.push_back({.text = std::move(text), .is_form = is_form, .learnt = learnt});
  }

  const ChatTemplate& form_;
  ChatLoss loss_;
  Conversation rest_;
  std::optional<std::string> system_;
  size_t last_answer_ = 0, last_question_ = 0;
  std::vector<ChatPiece> pieces_;
};

}  // namespace

ChatTemplate ChatTemplate::of(const ChatConfig& config) {
  const bool own = config.name == ChatTemplateName::Own;
  const bool has_forms = !config.begin.empty() || !config.system_form.empty() || !config.user_form.empty() ||
                         !config.assistant_form.empty();
  if (!own && has_forms) {
    throw ConfigError(fmt::format("data.chat: template {} has its own forms", enum_name(config.name)),
                      "begin, system_form, user_form and assistant_form are for template: own");
  }
  ChatTemplate result = own ? own_template(config) : known_template(config.name);
  result.default_system = config.system;
  return result;
}

std::vector<ChatPiece> ChatTemplate::render(const Conversation& conversation, ChatLoss loss) const {
  return Rendering(*this, loss).render(conversation);
}

std::vector<ChatPiece> ChatTemplate::render_prompt(const Conversation& conversation) const {
  std::vector<ChatPiece> pieces = render(conversation);
  for (ChatPiece& piece : pieces) piece.learnt = false;
  pieces.push_back({.text = assistant.before, .is_form = true, .learnt = false});
  return pieces;
}

}  // namespace weft
