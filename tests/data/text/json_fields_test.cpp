// SPDX-License-Identifier: Apache-2.0
#include "data/text/json_fields.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "data/text/bad_records.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

std::string text_of(std::string_view line) {
  std::string text = "unread";
  const JsonField field{"data.json_field", "text", &text};
  read_json_fields(line, std::span(&field, 1));
  return text;
}
std::string error_in(std::string_view line) {
  return error_of([&] { text_of(line); });
}

TEST(JsonFields, TheFieldIsTakenAmongWhateverElseThereIs) {
  EXPECT_EQ(text_of(R"({"text":"one"})"), "one");
  EXPECT_EQ(text_of(R"( { "id" : 1 , "text" : "one" , "more" : [ 1 , { "text" : "no" } , [ ] , { } ] } )"), "one");
  EXPECT_EQ(text_of(R"({"a":{"text":"no","b":[[["]}"]]]},"text":"yes","n":-1.5e+3,"t":true,"f":false,"z":null})"),
            "yes");
  EXPECT_EQ(text_of(R"({"text":"first","text":"last"})"), "last");
  EXPECT_EQ(text_of("{\"te\\u0078t\":\"named by an escape\"}"), "named by an escape");
  EXPECT_EQ(text_of(R"({"text":""})"), "");
  EXPECT_EQ(text_of(R"({"text":"\"\\\/\b\f\n\r\t\u00fc\u20AC\ud83d\ude00"})"), "\"\\/\b\f\n\r\tü€😀");
}

TEST(JsonFields, NonStandardJsonOfCommonProgramsIsRead) {
  EXPECT_EQ(text_of(R"({"score":NaN,"a":[-Infinity,Infinity],"text":"x"})"), "x");
  EXPECT_EQ(text_of(R"({"text":"a\ud83d b\ude00c\ud83d\ud83d\ude00\ud83d\n"})"), "a\uFFFD b\uFFFDc\uFFFD😀\uFFFD\n");
  EXPECT_EQ(text_of("{\"text\":\"tab\there \xff\"}"), "tab\there \xff");
}

TEST(JsonFields, ErrorsSayWhere) {
  EXPECT_THAT(error_in(R"({"text": )"), HasSubstr("not a line of JSON: column 10: expected a value, found the end"));
  EXPECT_THAT(error_in(R"({"text" 1})"), HasSubstr("column 9: expected ':', found '1}'"));
  EXPECT_THAT(error_in(R"({"text":"a)"), HasSubstr("the end of the text in quotes"));
  EXPECT_THAT(error_in(R"({"text":"a\)"), HasSubstr("expected an escape"));
  EXPECT_THAT(error_in(R"({"text":"\x"})"), HasSubstr("expected an escape"));
  EXPECT_THAT(error_in(R"({"text":"\u12g4"})"), HasSubstr("hexadecimal"));
  EXPECT_THAT(error_in(R"({"text":"a"} x)"), HasSubstr("expected the end of the line, found 'x'"));
  EXPECT_THAT(error_in(R"({"text":"a",})"), HasSubstr("a name or text in quotes"));
  EXPECT_THAT(error_in(R"({"a":[1,],"text":"a"})"), HasSubstr("not a line of JSON"));
  EXPECT_THAT(error_in(R"({"a":[1}],"text":"a"})"), HasSubstr("expected ','"));
  EXPECT_THAT(error_in(R"({"a":nul,"text":"a"})"), HasSubstr("expected a value"));
  EXPECT_THAT(error_in(""), HasSubstr("not a line of JSON"));
  EXPECT_THAT(error_in("[1, {\"text\": \"a\"}]"), HasSubstr("the line is JSON, but no object"));
  EXPECT_THAT(error_in(R"({"body":"a"})"), HasSubstr("the object has no field \"text\""));
  EXPECT_THAT(error_in(R"({"text":null})"), HasSubstr("field \"text\" is no string"));
  EXPECT_THAT(error_in(R"({"text":"a","text":1})"), HasSubstr("field \"text\" is no string"));
}

TEST(JsonFields, HintsSayWhatTheJobMayMean) {
  const auto hint = [](std::string_view line) {
    try {
      text_of(line);
    } catch (const BadRecordError& error) {
      return error.hint();
    }
    return std::string("taken");
  };
  EXPECT_EQ(hint(R"( { "id" : {"text": [1]} , "bo\u0064y":"a"} )"),
            "it has \"id\", \"body\"; data.json_field says which one is read");
  EXPECT_EQ(hint("{}"), "it has no field; data.json_field says which one is read");
  EXPECT_EQ(hint(R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1})"),
            R"(it has "a", "b", "c", "d", "e", "f", "g", "h"; data.json_field says which one is read)");
  EXPECT_EQ(hint(R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1})"),
            R"(it has "a", "b", "c", "d", "e", "f", "g", "h", ...; data.json_field says which one is read)");
  EXPECT_EQ(hint(R"({"text": 3})"), "data.json_field says which field is read");
  EXPECT_THAT(hint("["), HasSubstr("one JSON object"));
  EXPECT_THAT(hint("[1]"), HasSubstr("one JSON object"));
}

// People read a message: it repeats only the beginning of a line, however long the line is.
TEST(JsonFields, MessagesRepeatLittleOfTheLine) {
  const std::string longest(2'000'000, 'x');
  EXPECT_LT(error_in("{\"text\":" + longest + "}").size(), 250u);
  EXPECT_LT(error_in("{\"" + longest).size(), 250u);
  EXPECT_LT(error_in("{\"text\": \"a\"} " + longest).size(), 250u);
}

TEST(JsonFields, DepthIsNoMatterOfTheStack) {
  const std::string deep(3'000'000, '[');
  EXPECT_THAT(error_in("{\"a\":" + deep), HasSubstr("not a line of JSON"));
  EXPECT_EQ(text_of("{\"a\":" + deep + std::string(deep.size(), ']') + ",\"text\":\"x\"}"), "x");
}

// This parser takes everything that a strict parser takes, in the same way, when any bytes are cut out or changed.
TEST(JsonFields, AgreesWithAStrictParserWhereThatIsContent) {
  const std::string line = R"({"a": [1, {"b": "c\\\"d"}, true], "text": "x\u0041\n\\ y", "n": {"text": 3}, "e": []})";
  int taken = 0;
  for (size_t at = 0; at < line.size(); ++at) {
    for (const char* put : {"", "\"", "\\", "{", "]", ",", "0", "u"}) {
      std::string changed = line;
      changed.replace(at, 1, put);
      const nlohmann::json strict = nlohmann::json::parse(changed, nullptr, false);
      if (strict.is_discarded() || !strict.is_object() || !strict.contains("text") || !strict["text"].is_string()) {
        continue;
      }
      EXPECT_EQ(text_of(changed), strict["text"].get<std::string>()) << changed;
      ++taken;
    }
  }
  EXPECT_GT(taken, 50);
}

}  // namespace
}  // namespace weft
