// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gmock/gmock.h>

#include "tests/support/deep_json.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;
using testing::StartsWith;

TEST(Json, IsReadInEitherOrder) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": [2, null]})", "here").dump(), R"({"a":[2,null],"b":1})");
  EXPECT_EQ(parse_json<nlohmann::ordered_json>(R"({"b": 1, "a": [2]})", "here").dump(), R"({"b":1,"a":[2]})");
}

TEST(Json, InvalidJsonIsRefusedWithItsPlace) {
  const auto error = [](std::string_view text) { return error_of([&] { parse_json(text, "t.json"); }); };
  EXPECT_THAT(error(""), StartsWith("t.json: no valid JSON at byte 1: "));
  EXPECT_THAT(error("{\"a\": 1,}"), StartsWith("t.json: no valid JSON at byte 9: "));
  EXPECT_THAT(error("1e999"), StartsWith("t.json: no valid JSON: "));
  EXPECT_THAT(error("[1] 2"), StartsWith("t.json: no valid JSON at byte 5: "));
}

TEST(Json, DuplicateNamesAreRefused) {
  const auto error = [](std::string_view text) { return error_of([&] { parse_json(text, "t.json"); }); };
  EXPECT_EQ(error(R"({"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}], "c": {"b": 1}})"), "no error");
  EXPECT_EQ(error(R"({"a": 1, "c": {"a": 2}, "a": 3})"), "t.json: \"a\" is there twice");
  EXPECT_EQ(error(R"([[{"x": [{"x": 1}], "x": 2}]])"), "t.json: \"x\" is there twice");
}

TEST(Json, DepthIsBounded) {
  const auto error = [](const std::string& text, int most) {
    return error_of([&] { parse_json(text, "t.json", most); });
  };
  for (const auto& of : {deep_lists, deep_objects}) {
    EXPECT_EQ(error(of(kJsonDepth), kJsonDepth), "no error");
    EXPECT_EQ(error(of(kJsonDepth + 1), kJsonDepth), "t.json: more than 64 lists and objects within each other");
    EXPECT_EQ(error(of(4), 3), "t.json: more than 3 lists and objects within each other");
  }
  EXPECT_EQ(error("[" + deep_lists(1) + "," + deep_lists(2) + "," + deep_objects(2) + "]", 3), "no error");
  for (const std::string& text : deepest_values()) {
    EXPECT_THAT(error(text, kJsonDepth), HasSubstr("within each other"));
    EXPECT_THAT(error(text.substr(0, text.size() / 2), kJsonDepth), HasSubstr("within each other"));
  }
}

// A message must also be possible for values whose depth was never bounded, such as those of a test or of a library.
TEST(Json, AnExcerptShowsWhatIsShortAndNeverWhatIsDeep) {
  const auto shown = [](const auto& value) { return fmt::format("{}", json_excerpt(value)); };
  EXPECT_EQ(shown(nlohmann::json::parse(R"({"a":[1,2]})")), "an object of 1");
  EXPECT_EQ(shown(nlohmann::json::parse(R"([1,"x",null])")), R"([1,"x",null])");
  EXPECT_EQ(shown(nlohmann::ordered_json::parse(R"({"b":1,"a":2})")), R"({"b":1,"a":2})");
  EXPECT_EQ(shown(nlohmann::json(std::vector<int>(9, 0))), "an array of 9");
  EXPECT_EQ(shown(std::string("a\n\xff")), "\"a\\n\xef\xbf\xbd\"");
  EXPECT_EQ(shown(nlohmann::json(std::string(100, 'x'))), "\"" + std::string(59, 'x') + "...");
  for (const std::string& text : {deep_lists(100'000), deep_objects(100'000)}) {
    EXPECT_THAT(shown(nlohmann::json::parse(text)), StartsWith("an "));
    EXPECT_THAT(shown(nlohmann::ordered_json::parse(text)), StartsWith("an "));
    EXPECT_EQ(integer_or<int>(nlohmann::json::parse(R"({"n": 3, "deep": )" + text + "}"), "n", 0), 3);
  }
}

// What scan_json() passes on, one after another: "name/place=value".
class Passed : public JsonMembers {
 public:
  void number(std::string_view name, size_t place, const JsonNumber& value) override {
    add(name, place, value.whole ? fmt::format("{}", *value.whole) : fmt::format("~{}", value.value));
  }
  void text(std::string_view name, size_t place, std::string_view value) override {
    add(name, place, fmt::format("'{}'", value));
  }
  std::string all;

 private:
  void add(std::string_view name, size_t place, const std::string& value) {
    all += fmt::format("{}{}/{}={}", all.empty() ? "" : " ", name, place, value);
  }
};

TEST(JsonScan, NumbersAndTextsNearTheTopArePassedOn) {
  Passed passed;
  EXPECT_TRUE(scan_json(
      R"({"a": 1, "b": -2.5, "c": "x\u00e9", "d": [3, "y", [9], {"z": 8}, 4], "e": {"f": 7}, "g": null, "h": true, "i": 5})",
      passed));
  EXPECT_EQ(passed.all, "a/0=1 b/0=~-2.5 c/0='x\u00e9' d/1=3 d/2='y' d/5=4 i/0=5");
}

TEST(JsonScan, WholeNumbersBeyondInt64AreNotWhole) {
  Passed passed;
  EXPECT_TRUE(scan_json(R"({"a": 9223372036854775807, "b": 9223372036854775808, "c": -9223372036854775808})", passed));
  EXPECT_EQ(passed.all, "a/0=9223372036854775807 b/0=~9.223372036854776e+18 c/0=-9223372036854775808");
}

TEST(JsonScan, RefusesWhatParsingRefuses) {
  const auto is_refused = [](std::string_view text) {
    Passed passed;
    return !scan_json(text, passed);
  };
  for (const char* text : {"", "{\"a\": 1,}", "{\"a\": 1e999}", "{} {}", R"({"a": 1, "c": {"a": 2}, "a": 3})",
                           R"({"l": [[{"x": [{"x": 1}], "x": 2}]]})", R"({"a": "\ud800"})", "{\"a\": \"\xff\"}", "{"}) {
    EXPECT_TRUE(is_refused(text)) << text;
    EXPECT_NE(error_of([&] { parse_json(text, "t.json"); }), "no error") << text;
  }
  for (const char* text : {"[1]", "7", "null", "\"a\""}) EXPECT_TRUE(is_refused(text)) << text;  // no objects
  EXPECT_FALSE(is_refused(R"({"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}], "c": {"b": 1}})"));
  EXPECT_FALSE(is_refused("{\"a\":" + deep_lists(kJsonDepth - 1) + "}"));
  EXPECT_TRUE(is_refused("{\"a\":" + deep_lists(kJsonDepth) + "}"));
  for (const std::string& text : deepest_values()) EXPECT_TRUE(is_refused("{\"a\":" + text + "}"));
  std::string many = "{";
  for (size_t i = 0; i < kMostScannedNames; ++i) many += fmt::format("\"{}\":0,", i);
  EXPECT_FALSE(is_refused(many.substr(0, many.size() - 1) + "}"));
  EXPECT_TRUE(is_refused(many + "\"one more\":0}"));
}

}  // namespace
}  // namespace weft
