// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/config/fields.h"

namespace weft {

enum class ChatTemplateName { ChatMl, Llama3, Llama31, Qwen3, MistralV1, Mistral, MistralNemo, Own };
template <>
struct EnumNames<ChatTemplateName> {
  static constexpr auto kNames = enum_names<ChatTemplateName>("chatml", "llama3", "llama3.1", "qwen3", "mistral-v1",
                                                              "mistral", "mistral-nemo", "own");
};

// What of a conversation training learns.
enum class ChatLoss {
  Assistant,  // all that the assistant says, with the special that ends it
  Last,       // the assistant's last message alone
  All,        // everything
};
template <>
struct EnumNames<ChatLoss> {
  static constexpr auto kNames = enum_names<ChatLoss>("assistant", "last", "all");
};

// How conversations become text (docs/finetuning.md "Chats").
struct ChatConfig {
  ChatTemplateName name = ChatTemplateName::ChatMl;
  std::string system;
  ChatLoss loss = ChatLoss::Assistant;
  std::string begin;
  std::string system_form;
  std::string user_form;
  std::string assistant_form;

  template <class Visitor>
  void fields(Visitor& v) {
    constexpr Affects kPrepared = Affects::Nothing;
    v.field("template", name,
            "What stands around messages: chatml (SmolLM2 and Qwen 2.5, with their `system`), llama3, llama3.1 (and "
            "3.2: with dates), qwen3, mistral-v1 (7B, 0.1 and 0.2), mistral (7B, 0.3), mistral-nemo, or own: the forms "
            "below.",
            kPrepared);
    v.field("system", system, "The system's text of conversations that begin with none; empty: they have none.",
            kPrepared);
    v.field("loss", loss,
            "What is learnt: what the assistant says, with the special that ends it; its last message alone; or all.",
            kPrepared);
    v.field("begin", begin,
            "Own template: what stands before a conversation. Here and in the forms {bos} and {eos} stand for the "
            "names of these specials, and names of specials become them.",
            kPrepared);
    v.field("system_form", system_form,
            "Own template: what stands around a system's text, which {text} stands for; empty: the text is put before "
            "the first user's, with a blank line between them.",
            kPrepared);
    v.field("user_form", user_form, "Own template: what stands around a user's {text}.", kPrepared);
    v.field("assistant_form", assistant_form,
            "Own template: what stands around the assistant's {text}; the first special behind it ends an answer.",
            kPrepared);
  }

  bool operator==(const ChatConfig&) const = default;
};

}  // namespace weft
