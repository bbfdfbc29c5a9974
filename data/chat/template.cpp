// SPDX-License-Identifier: Apache-2.0
#include "data/chat/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
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
std::string with_thought(std::span<const ChatMessage> conversation, size_t message, size_t last_question) {
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

// Renders one conversation, whose first system's text is put before the other messages or into one of them.
class Rendering {
 public:
  Rendering(const ChatTemplate& form, ChatLoss loss, const Conversation& all) : form_(form), loss_(loss), rest_(all) {
    if (!form.default_system.empty()) system_ = form.default_system;
    if (all.empty() || all.front().role != ChatRole::System) return;
    system_ = all.front().text;
    rest_ = rest_.subspan(1);
  }

  std::vector<ChatPiece> render() {
    check_order();
    if (!form_.begin.empty()) pieces_.push_back({.text = form_.begin, .is_form = true});
    open();
    const size_t last_answer = last_of(ChatRole::Assistant);
    const auto question = std::find_if(rest_.rbegin(), rest_.rend(), is_question);
    const auto last_question =
        static_cast<size_t>((question == rest_.rend() ? rest_.rbegin() : question).base() - rest_.begin()) - 1;
    for (size_t i = 0; i < rest_.size(); ++i) {
      const ChatMessage& message = rest_[i];
      const bool answers = message.role == ChatRole::Assistant;
      const bool learnt = answers && message.learnt && (loss_ != ChatLoss::Last || i == last_answer);
      put_message(i, answers && form_.thinks ? with_thought(rest_, i, last_question) : said(message), learnt);
    }
    return std::move(pieces_);
  }

 private:
  void open() {
    const ChatForm* form = form_.opening ? &*form_.opening : system_ ? &form_.system : nullptr;
    if (form == nullptr || form_.system_place != SystemPlace::Message) return;
    put(form->before, true, false);
    put(trimmed_if(form_.trims, system_.value_or("")), false, false);
    put(form->after, true, false);
  }

  void check_order() const {
    for (size_t i = 0; i < rest_.size(); ++i) {
      if (form_.system_place != SystemPlace::Message && rest_[i].role == ChatRole::System) {
        throw DataError("a system's text stands behind other messages, where the template has no place for it",
                        "put it first");
      }
      if (form_.alternates && (rest_[i].role == ChatRole::User) != (i % 2 == 0)) {
        throw DataError(fmt::format("message {} is of the {}, but users and the assistant must take turns", i,
                                    enum_name(rest_[i].role)),
                        "join messages of one side, and begin with the user");
      }
    }
  }

  size_t last_of(ChatRole role) const {
    const auto found = std::ranges::find(rest_.rbegin(), rest_.rend(), role, &ChatMessage::role);
    return static_cast<size_t>(rest_.rend() - found) - 1;  // none: a place that there is not
  }

  void put_message(size_t i, const std::string& text, bool learnt) {
    const ChatRole role = rest_[i].role;
    const bool answers = role == ChatRole::Assistant;
    const ChatForm& form = answers ? form_.assistant : role == ChatRole::System ? form_.system : form_.user;
    put(form.before, true, false);
    if (takes_system(i)) put(*system_ + "\n\n", false, false);
    if (answers) put(form_.lead, true, learnt);
    put(text, false, learnt);
    put(form.after, true, learnt);
  }

  bool takes_system(size_t i) const {
    if (!system_ || rest_[i].role != ChatRole::User) return false;
    switch (form_.system_place) {
      case SystemPlace::Message:
        return false;
      case SystemPlace::FirstUser:
        return std::ranges::find(rest_, ChatRole::User, &ChatMessage::role) ==
               rest_.begin() + static_cast<ptrdiff_t>(i);
      case SystemPlace::LastUserAtEnd:
        return i + 1 == rest_.size();
    }
    return false;
  }

  std::string said(const ChatMessage& message) const {
    return trimmed_if(form_.trims || (form_.trims_answers && message.role == ChatRole::Assistant), message.text);
  }
  static std::string trimmed_if(bool trims, std::string_view text) { return std::string(trims ? trimmed(text) : text); }

  void put(const std::string& text, bool is_form, bool learnt) {
    if (!text.empty())
      pieces_.push_back({.text = text, .is_form = is_form, .learnt = learnt || loss_ == ChatLoss::All});
  }

  const ChatTemplate& form_;
  ChatLoss loss_;
  std::span<const ChatMessage> rest_;  // without the system's text that comes first
  std::optional<std::string> system_;
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
  return Rendering(*this, loss, conversation).render();
}

std::vector<ChatPiece> ChatTemplate::render_prompt(const Conversation& conversation) const {
  std::vector<ChatPiece> pieces = render(conversation);
  for (ChatPiece& piece : pieces) piece.learnt = false;
  pieces.push_back({.text = assistant.before, .is_form = true, .learnt = false});
  return pieces;
}

}  // namespace weft
