// SPDX-License-Identifier: Apache-2.0
#include "data/chat/jinja.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace weft {
namespace {

// A text as an expression: quoted, with bos_token and eos_token for {bos} and {eos}.
std::string expression(std::string_view text) {
  std::string result = "'";
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("{bos}") || rest.starts_with("{eos}")) {
      result += rest[1] == 'b' ? "' + bos_token + '" : "' + eos_token + '";
      at += 4;
    } else if (text[at] == '\n') {
      result += "\\n";
    } else {
      if (text[at] == '\'' || text[at] == '\\') result += '\\';
      result += text[at];
    }
  }
  return result + "'";
}

std::string show(const std::string& what) { return "{{- " + what + " -}}\n"; }

// The text of an assistant's message, in which earlier thoughts are left out.
constexpr const char* kThoughts =
    "{%- set parts = said.split('</think>') -%}\n"
    "{%- set thought = parts[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') if parts|length > 1 else '' -%}\n"
    "{%- set said = parts[-1].lstrip('\\n') if parts|length > 1 else said -%}\n"
    "{%- if loop.index0 > seen.question and (loop.last or thought) -%}\n"
    "{%- set said = '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + said.lstrip('\\n') -%}\n"
    "{%- endif -%}\n";
// Where the last question is: what a tool has said is none.
constexpr const char* kLastQuestion =
    "{%- for message in rest -%}\n"
    "{%- if message.role == 'user' and not (message.content.startswith('<tool_response>') and "
    "message.content.endswith('</tool_response>')) -%}\n"
    "{%- set seen.question = loop.index0 -%}\n"
    "{%- endif -%}\n"
    "{%- endfor -%}\n"
    "{%- if seen.question < 0 -%}\n"
    "{%- set seen.question = rest|length - 1 -%}\n"
    "{%- endif -%}\n";

std::string message_of(const ChatForm& form, const std::string& text) {
  return show(expression(form.before) + " + " + text + " + " + expression(form.after));
}

// The system's text that comes first is taken from the messages.
std::string opening(const ChatTemplate& form) {
  const std::string absent = form.default_system.empty() ? "none" : expression(form.default_system);
  std::string text = fmt::format(
      "{{%- set seen = namespace(system={}, question=-1, asked=false) -%}}\n"
      "{{%- set rest = messages -%}}\n"
      "{{%- if messages and messages[0].role == 'system' -%}}\n"
      "{{%- set seen.system = messages[0].content -%}}\n"
      "{{%- set rest = messages[1:] -%}}\n"
      "{{%- endif -%}}\n",
      absent);
  if (!form.begin.empty()) text += show(expression(form.begin));
  const std::string trim = form.trims ? "|trim" : "";
  if (form.opening) {
    text += message_of(*form.opening, "(seen.system if seen.system is not none else '')" + trim);
  } else if (form.system_place == SystemPlace::Message) {
    text += "{%- if seen.system is not none -%}\n" + message_of(form.system, "seen.system" + trim) + "{%- endif -%}\n";
  }
  return text;
}

std::string checks(const ChatTemplate& form) {
  std::string text;
  if (form.alternates) {
    text +=
        "{%- if (message.role == 'user') != (loop.index0 % 2 == 0) -%}\n"
        "{{- raise_exception('users and the assistant must take turns') -}}\n"
        "{%- endif -%}\n";
  }
  if (form.system_place != SystemPlace::Message) {
    text +=
        "{%- if message.role == 'system' -%}\n"
        "{{- raise_exception('a system text must come first') -}}\n"
        "{%- endif -%}\n";
  }
  return text;
}

std::string users_text(const ChatTemplate& form) {
  const std::string with = "(seen.system + '\\n\\n' + said)";
  switch (form.system_place) {
    case SystemPlace::Message:
      return "said";
    case SystemPlace::FirstUser:
      return "(" + with + " if seen.system is not none and not seen.asked else said)";
    case SystemPlace::LastUserAtEnd:
      return "(" + with + " if seen.system is not none and loop.last else said)";
  }
  return {};
}

}  // namespace

std::string jinja_of(const ChatTemplate& form) {
  std::string text = opening(form);
  if (form.thinks) text += kLastQuestion;
  text += "{%- for message in rest -%}\n" + checks(form);
  text += form.trims ? "{%- set said = message.content|trim -%}\n" : "{%- set said = message.content -%}\n";
  text += "{%- if message.role == 'assistant' -%}\n";
  if (form.thinks) text += kThoughts;
  text +=
      message_of({form.assistant.before + form.lead, form.assistant.after}, form.trims_answers ? "said|trim" : "said");
  if (form.system_place == SystemPlace::Message) {
    text += "{%- elif message.role == 'system' -%}\n" + message_of(form.system, "said");
  }
  text += "{%- else -%}\n" + message_of(form.user, users_text(form));
  if (form.system_place == SystemPlace::FirstUser) text += "{%- set seen.asked = true -%}\n";
  text += "{%- endif -%}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n";
  text += show(expression(form.assistant.before)) + "{%- endif -%}\n";
  return text;
}

}  // namespace weft
