// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/chat/config.h"
#include "data/chat/conversation.h"

namespace weft {

// What stands before and behind a text.
struct ChatForm {
  std::string before, after;
};

// Where a system's text stands.
enum class SystemPlace {
  Message,        // in a form of its own
  FirstUser,      // before the first user's text
  LastUserAtEnd,  // before the last user's text, if the conversation ends with it, and else nowhere: as Mistral's
};

// A piece of a conversation as the model reads it.
struct ChatPiece {
  std::string text;
  bool is_form = false;  // names of specials in a template's text are these specials; in what people say they are text
  bool learnt = false;
};

// A template as data: it renders what the template of the same name in Jinja renders with apply_chat_template(), which
// tests compare. In forms {bos} and {eos} stand for the names of these specials.
struct ChatTemplate {
  std::string begin;
  ChatForm system, user, assistant;
  // The end of what stands before the assistant's text that an answer begins with: a blank, which is a part of its
  // first token. A model generates it, and training learns it.
  std::string lead = {};
  SystemPlace system_place = SystemPlace::Message;
  std::optional<ChatForm> opening = {};  // of a system's text that comes first; it stands there without one too
  std::string default_system = {};      // the text of a system's message that a conversation begins with if it has none
  bool trims = false;                   // white space around texts is left out, as by Python's str.strip()
  bool trims_answers = false;           // around those of the assistant alone
  bool alternates = false;              // users and the assistant take turns, the user first
  bool thinks = false;                  // <think>...</think> as Qwen 3 places it
  std::vector<std::string> needs = {};  // specials without which a model cannot follow the forms

  // ConfigError if a form is not what it must be: of an own template, or of another with forms of its own.
  static ChatTemplate of(const ChatConfig& config);

  // The pieces in order. DataError if the conversation has roles in an order that the template has no place for.
  std::vector<ChatPiece> render(const Conversation& conversation, ChatLoss loss = ChatLoss::Assistant) const;
  // Up to the place where the assistant's next message begins.
  std::vector<ChatPiece> render_prompt(const Conversation& conversation) const;
};

}  // namespace weft
