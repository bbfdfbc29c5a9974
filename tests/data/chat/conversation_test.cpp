// SPDX-License-Identifier: Apache-2.0
// Conversations in lines of JSON: what is read, and what is named as bad.
#include "data/chat/conversation.h"

#include <gtest/gtest.h>

#include "data/text/bad_records.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

TEST(Conversation, IsReadInTheFormsOfOpenAiAndOfShareGpt) {
  const Conversation expected = {
      {ChatRole::System, "Be brief."}, {ChatRole::User, "Hei\n\"du\""}, {ChatRole::Assistant, ""}};
  EXPECT_EQ(read_conversation(R"({"id": 3, "messages": [{"role": "system", "content": "Be brief."},
      {"content": "Hei\n\"du\"", "role": "user", "name": "x"}, {"role": "assistant", "content": "", "tool_calls": []}]})",
                              "messages"),
            expected);
  EXPECT_EQ(read_conversation(R"({"conversations": [{"from": "system", "value": "Be brief."},
      {"from": "human", "value": "Hei\n\"du\""}, {"from": "gpt", "value": ""}]})",
                              "conversations"),
            expected);
}

TEST(Conversation, SaysWhatIsNotLearnt) {
  const Conversation read = read_conversation(
      R"({"m": [{"role": "assistant", "content": "a", "weight": 0}, {"role": "assistant", "content": "b", "weight": 1}]})",
      "m");
  EXPECT_EQ(read, (Conversation{{ChatRole::Assistant, "a", false}, {ChatRole::Assistant, "b"}}));
}

TEST(Conversation, ComesBackFromItsText) {
  const Conversation all = {
      {ChatRole::System, ""}, {ChatRole::User, "\x01 \xc3\xa5\n"}, {ChatRole::Assistant, "}]", false}};
  EXPECT_EQ(read_messages(conversation_json(all)), all);
}

struct BadCase {
  const char *line, *message;
  BadRecord reason;
};

class BadConversations : public testing::TestWithParam<BadCase> {};

TEST_P(BadConversations, AreNamed) {
  const auto& [line, message, reason] = GetParam();
  try {
    read_conversation(line, "messages");
    FAIL() << line;
  } catch (const BadRecordError& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    EXPECT_EQ(error.reason(), reason);
    EXPECT_FALSE(error.hint().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadConversations,
    testing::Values(
        BadCase{"nothing", "not a line of JSON", BadRecord::NotJson},
        BadCase{"{\"messages\": [}", "not a line of JSON", BadRecord::NotJson},
        BadCase{"{\"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}", "not a line of JSON",
                BadRecord::NotJson},
        BadCase{"[]", "no JSON object", BadRecord::NoObject},
        BadCase{"{\"text\": \"a\"}", "no list \"messages\"", BadRecord::NoField},
        BadCase{"{\"messages\": \"a\"}", "no list \"messages\"", BadRecord::NoField},
        BadCase{"{\"messages\": []}", "has no message", BadRecord::Malformed},
        BadCase{"{\"messages\": [1]}", "message 0 is no object", BadRecord::Malformed},
        BadCase{"{\"messages\": [{\"role\": \"user\"}]}", "message 0 has no text in `content`", BadRecord::Malformed},
        BadCase{"{\"messages\": [{\"content\": \"a\"}]}", "message 0 has no text in `role`", BadRecord::Malformed},
        BadCase{R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]})",
                "message 0 has no text in `content`", BadRecord::Malformed},
        BadCase{R"({"messages": [{"from": "human", "content": "a"}]})", "message 0 has no text in `value`",
                BadRecord::Malformed},
        BadCase{R"({"messages": [{"role": "user", "content": "a"}, {"role": "tool", "content": "a"}]})",
                "message 1 has the role \"tool\"", BadRecord::Malformed},
        BadCase{R"({"messages": [{"role": "assistant", "content": "a", "tool_calls": [{}]}]})", "has `tool_calls`",
                BadRecord::Malformed},
        BadCase{R"({"messages": [{"role": "assistant", "content": "a", "weight": 2}]})", "neither 0 nor 1",
                BadRecord::Malformed}));

}  // namespace
}  // namespace weft
