// SPDX-License-Identifier: Apache-2.0
#include "data/chat/published.h"

#include <algorithm>

#include "base/text/sha256.h"

namespace weft {
namespace {

constexpr std::string_view kSmolLm = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
constexpr std::string_view kQwen25 = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";

struct Published {
  std::string_view sha256;
  ChatTemplateName name;
  std::string_view system = {};
};

// Of each family the texts in use; tests/data/chat/make_chat_golden.py compared them with transformers.
constexpr Published kPublished[] = {
    // Many finetuned models, such as OpenHermes 2.5.
    {"153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3", ChatTemplateName::ChatMl},
    {"fcf7a096fe99a48fd9ad2b250bf9237e96e8f48bffec1c7ea4d3f225176cd40e", ChatTemplateName::ChatMl},
    // SmolLM2.
    {"872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788", ChatTemplateName::ChatMl, kSmolLm},
    {"de9cde7d1b0ca0cc87459a6673e0d12fb89c070bdb24e4a30b6e4d187b226221", ChatTemplateName::ChatMl, kSmolLm},
    // Qwen 2.5, Qwen 3, and Qwen 3 of July 2025, which does not think.
    {"cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f", ChatTemplateName::ChatMl, kQwen25},
    {"a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8", ChatTemplateName::Qwen3},
    {"64f85b198065d0fba2a81f37e10ed68161ce2c19a754c7100e67e0ca2ee9c326", ChatTemplateName::ChatMl},
    // Llama 3, 3.1 and 3.2.
    {"ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122", ChatTemplateName::Llama3},
    {"e10ca381b1ccc5cf9db52e371f3b6651576caee0a630b452e2816b2d404d4b65", ChatTemplateName::Llama31},
    {"5816fce10444e03c2e9ee1ef8a4a1ea61ae7e69e438613f3b17b69d0426223a4", ChatTemplateName::Llama31},
    // Mistral 7B 0.2 and 0.3, Mistral Nemo.
    {"26a59556925c987317ce5291811ba3b7f32ec4c647c400c6cc7e3a9993007ba7", ChatTemplateName::MistralV1},
    {"e16746b40344d6c5b5265988e0328a0bf7277be86f1c335156eae07e29c82826", ChatTemplateName::Mistral},
    {"e4676cb56dffea7782fd3e2b577cfaf1e123537e6ef49b3ec7caa6c095c62272", ChatTemplateName::MistralNemo},
};

}  // namespace

std::optional<ChatConfig> published_template(std::string_view jinja) {
  const auto found = std::ranges::find(kPublished, sha256(jinja), &Published::sha256);
  if (found == std::end(kPublished)) return std::nullopt;
  return ChatConfig{.name = found->name, .system = std::string(found->system)};
}

}  // namespace weft
