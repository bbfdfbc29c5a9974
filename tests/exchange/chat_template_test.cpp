// SPDX-License-Identifier: Apache-2.0
// The chat template of a model in the files of transformers.
#include "exchange/chat_template.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

std::vector<ChatConfig> all_templates() {
  std::vector<ChatConfig> all;
  for (const auto& [name, value] : EnumNames<ChatTemplateName>::kNames) {
    all.push_back({.name = value, .loss = ChatLoss::Last});
    if (value == ChatTemplateName::Own) {
      all.back().begin = "{bos}", all.back().user_form = "U: '\\{text}\n", all.back().assistant_form = "A: {text}{eos}";
    }
    all.push_back(all.back());
    all.back().system = "Say it\nin \"Norwegian\".";
  }
  return all;
}

// Writes the files of a model with this template.
std::map<std::string, std::string> exported(const Scratch& scratch, const ChatConfig& chat) {
  std::map<std::string, std::string> files = {{"tokenizer_config.json", "{\"eos_token\": \"</s>\"}"}};
  add_chat_template(chat, files);
  scratch.write("tokenizer_config.json", files.at("tokenizer_config.json"));
  return files;
}

TEST(ChatTemplateFiles, WhatWasExportedIsKnownAgain) {
  for (const ChatConfig& chat : all_templates()) {
    const Scratch scratch;
    const nlohmann::json config = nlohmann::json::parse(exported(scratch, chat).at("tokenizer_config.json"));
    EXPECT_EQ(config["eos_token"], "</s>");
    EXPECT_THAT(config["chat_template"].get<std::string>(), HasSubstr("{%- for message in rest -%}"));
    EXPECT_EQ(read_chat_template(scratch.path()), chat) << enum_name(chat.name);
  }
}

TEST(ChatTemplateFiles, StandInThreePlaces) {
  const Scratch scratch;
  EXPECT_EQ(read_chat_template(scratch.path()), std::nullopt) << "no file at all";
  const ChatConfig chat{.name = ChatTemplateName::Qwen3};
  nlohmann::json config = nlohmann::json::parse(exported(scratch, chat).at("tokenizer_config.json"));
  const std::string jinja = config["chat_template"];
  config["chat_template"] =
      nlohmann::json::array({{{"name", "rag"}, {"template", "x"}}, {{"name", "default"}, {"template", jinja}}});
  scratch.write("tokenizer_config.json", config.dump());
  EXPECT_EQ(read_chat_template(scratch.path()), chat);
  config.erase("chat_template");
  scratch.write("tokenizer_config.json", config.dump());
  EXPECT_EQ(read_chat_template(scratch.path()), std::nullopt) << "a model without a template";
  scratch.write("chat_template.jinja", jinja);
  EXPECT_EQ(read_chat_template(scratch.path()), chat);
}

TEST(ChatTemplateFiles, AnotherTemplateIsNamedAndLeftOut) {
  const Scratch scratch;
  nlohmann::json config = nlohmann::json::parse(exported(scratch, {}).at("tokenizer_config.json"));
  config["chat_template"] = config["chat_template"].get<std::string>() + " ";
  scratch.write("tokenizer_config.json", config.dump());
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_chat_template(scratch.path()), std::nullopt);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("the chat template with the SHA-256 "));
  EXPECT_THAT(said, HasSubstr("weft chat --template"));
}

TEST(ChatTemplateFiles, FilesThatAreNoneAreRefused) {
  const Scratch scratch;
  const auto refusal = [&](const std::string& text) {
    scratch.write("tokenizer_config.json", text);
    return error_of<DataError>([&] { read_chat_template(scratch.path()); });
  };
  EXPECT_THAT(refusal("{"), HasSubstr("tokenizer_config.json"));
  EXPECT_THAT(refusal("[]"), HasSubstr("is no object"));
  EXPECT_THAT(refusal("{\"chat_template\": 3}"), HasSubstr("chat_template is 3, and no text"));
  EXPECT_THAT(refusal("{\"chat_template\": [{\"name\": \"default\", \"template\": {}}]}"), HasSubstr("and no text"));
  EXPECT_THAT(refusal("{\"chat_template\": \"x\", \"weft_chat\": 1}"), HasSubstr("weft_chat is 1, and no text"));
  EXPECT_THAT(refusal("{\"chat_template\": \"x\", \"weft_chat\": \"template: none\"}"), HasSubstr("template"));
  EXPECT_THAT(refusal("{\"chat_template\": \"x\", \"weft_chat\": \"template: own\\nuser_form: x\"}"),
              HasSubstr("user_form"));
}

}  // namespace
}  // namespace weft
