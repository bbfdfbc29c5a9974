// SPDX-License-Identifier: Apache-2.0
// Ids of conversations beside those of transformers' apply_chat_template() (make_chat_golden.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/config/value_named.h"
#include "base/files.h"
#include "data/chat/encoder.h"
#include "tests/data/tokenizer/fixture/make_tokenizer.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

const fs::path kFolder = source_dir() / "tests" / "data" / "chat";

const Json& golden() {
  static const Json json = Json::parse(read_file(kFolder / "chat_golden.json"));
  return json;
}

// What the golden script gave to transformers as bos and eos.
TokenizerPtr tokenizer_of(const std::string& name) {
  TokenizerConfig config{.kind = TokenizerKind::HuggingFace,
                         .model_file = (kFolder / "tokenizers" / (name + ".json")).string()};
  if (name == "qwen") config.eos = "<|im_end|>";
  if (name == "llama3") config.bos = "<|begin_of_text|>", config.eos = "<|eot_id|>";
  if (name == "mistral" || name == "mistral1") config.bos = "<s>", config.eos = "</s>";
  return train_tokenizer(config, {}, 1);
}

ChatConfig config_of(const Json& golden_template) {
  return {.name = value_named<ChatTemplateName>(golden_template["name"].get<std::string>(), "name"),
          .system = golden_template["system"]};
}

class Templates : public testing::TestWithParam<std::string> {};

TEST_P(Templates, GiveTheIdsOfApplyChatTemplate) {
  const Json& expected = golden()["templates"][GetParam()];
  const ChatEncoder encoder(config_of(expected), tokenizer_of(expected["tokenizer"]));
  EXPECT_GT(expected["cases"].size(), 10u);
  for (const Json& item : expected["cases"]) {
    const Conversation conversation =
        read_messages(golden()["conversations"][item["conversation"].get<size_t>()].dump());
    EXPECT_EQ(encoder.encode(conversation).ids, item["ids"].get<Ids>()) << conversation_json(conversation);
    EXPECT_EQ(encoder.prompt(conversation), item["prompt"].get<Ids>()) << conversation_json(conversation);
  }
}

// A prompt is what training has before an answer: a model is asked as it was taught.
TEST_P(Templates, PromptsAreTheContextOfTheLastAnswer) {
  const Json& expected = golden()["templates"][GetParam()];
  ChatConfig config = config_of(expected);
  config.loss = ChatLoss::Last;
  const ChatEncoder encoder(config, tokenizer_of(expected["tokenizer"]));
  size_t compared = 0;
  for (const Json& item : expected["cases"]) {
    Conversation conversation = read_messages(golden()["conversations"][item["conversation"].get<size_t>()].dump());
    // Mistral's templates show the system's text only while the conversation ends with the user.
    const bool loses_system = GetParam().starts_with("mistral") && conversation.front().role == ChatRole::System;
    if (conversation.back().role != ChatRole::Assistant || loses_system) continue;
    const EncodedChat whole = encoder.encode(conversation);
    conversation.pop_back();
    if (conversation.empty()) continue;
    const Ids prompt = encoder.prompt(conversation);
    ASSERT_GE(whole.turns.size(), 2u);
    const auto context = static_cast<size_t>(whole.turns[0]);
    // A token that the form and the answer share is learnt, and no part of the prompt; another one may stand there.
    ASSERT_GE(prompt.size(), context);
    EXPECT_LE(prompt.size(), context + 2);
    EXPECT_EQ(Ids(whole.ids.begin(), whole.ids.begin() + whole.turns[0]),
              Ids(prompt.begin(), prompt.begin() + whole.turns[0]));
    ++compared;
  }
  EXPECT_GT(compared, 4u);
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : golden()["templates"].items()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Published, Templates, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft
