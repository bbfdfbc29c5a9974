// SPDX-License-Identifier: Apache-2.0
#include "data/chat/known_templates.h"

#include "base/error.h"

namespace weft {
namespace {

// A message between ChatML's two specials (OpenAI, 2023), as SmolLM2 and Qwen have it.
ChatForm chatml(const char* role) {
  return {.before = std::string("<|im_start|>") + role + "\n", .after = "<|im_end|>\n"};
}

ChatTemplate chatml_template() {
  return {.system = chatml("system"),
          .user = chatml("user"),
          .assistant = chatml("assistant"),
          .needs = {"<|im_start|>", "<|im_end|>"}};
}

ChatForm llama3(const char* role) {
  return {.before = std::string("<|start_header_id|>") + role + "<|end_header_id|>\n\n", .after = "<|eot_id|>"};
}

ChatTemplate llama3_template() {
  return {.begin = "{bos}",
          .system = llama3("system"),
          .user = llama3("user"),
          .assistant = llama3("assistant"),
          .trims = true,
          .needs = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}};
}

// Llama 3.1 and 3.2 begin with two dates. The second is the day of the release, as the published template has it where
// no day is given: a model must not depend on the day of its training.
ChatTemplate llama31_template() {
  ChatTemplate result = llama3_template();
  result.opening = llama3("system");
  result.opening->before += "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  return result;
}

ChatTemplate qwen3_template() {
  ChatTemplate result = chatml_template();
  result.thinks = true;
  return result;
}

// Mistral's three forms differ in blanks, and in whether [INST] and [/INST] are specials: in the first they are text.
ChatTemplate mistral_template(const char* before_user, const char* after_user) {
  return {.begin = "{bos}",
          .system = {},
          .user = {.before = before_user, .after = after_user},
          .assistant = {.before = "", .after = "{eos}"},
          .alternates = true};
}

ChatTemplate mistral_v1_template() {
  ChatTemplate result = mistral_template("[INST] ", " [/INST]");
  result.system_place = SystemPlace::FirstUser;
  return result;
}

// Of those whose [INST] and [/INST] are specials.
ChatTemplate mistral_of_specials(const char* before_user) {
  ChatTemplate result = mistral_template(before_user, "[/INST]");
  result.system_place = SystemPlace::LastUserAtEnd;
  result.needs = {"[INST]", "[/INST]"};
  return result;
}

ChatTemplate mistral_v3_template() {
  ChatTemplate result = mistral_of_specials("[INST] ");
  result.lead = " ";
  result.trims_answers = true;
  return result;
}

}  // namespace

ChatTemplate known_template(ChatTemplateName name) {
  switch (name) {
    case ChatTemplateName::ChatMl:
      return chatml_template();
    case ChatTemplateName::Llama3:
      return llama3_template();
    case ChatTemplateName::Llama31:
      return llama31_template();
    case ChatTemplateName::Qwen3:
      return qwen3_template();
    case ChatTemplateName::MistralV1:
      return mistral_v1_template();
    case ChatTemplateName::Mistral:
      return mistral_v3_template();
    case ChatTemplateName::MistralNemo:
      return mistral_of_specials("[INST]");
    case ChatTemplateName::Own:
      break;
  }
  throw InternalError("an own template has no name");
}

}  // namespace weft
