// SPDX-License-Identifier: Apache-2.0
// Whatever data, jobs and models say is text in a page, and the page holds no markup but its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pages/report.h"
#include "pages/text.h"
#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile = "</script><img src=x onerror=alert(1)><!-- & \xE2\x80\xA8 \xE2\x80\xAE";

TEST(PageText, InvisibleCharactersAreSpeltOut) {
  EXPECT_EQ(page_text("a\tb\nc \xC3\xA9"), "a\tb\nc \xC3\xA9");
  EXPECT_EQ(page_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(page_text("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(page_text("\xff\xed\xa0\x80"), "\\xff\\xed\\xa0\\x80") << "no UTF-8; a surrogate alone";
  EXPECT_EQ(page_text("\xE2\x80\xAE"
                      "cba\xE2\x81\xA6"),
            "\\u202ecba\\u2066");
  EXPECT_EQ(page_text("\xE2\x80\xA8\xEF\xBB\xBF"), "\\u2028\\ufeff");
  EXPECT_EQ(page_text("\xF3\xA0\x80\xA0"), "\\U000e0020") << "a tag character";
}

TEST(PageText, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(page_text("abcdef", 4), "abcd ... (2 more bytes)");
  EXPECT_EQ(page_text("abc\xC3\xA9", 4), "abc ... (2 more bytes)");
}

TEST(JsonBlock, NothingInItEndsTheElement) {
  const std::string made = json_block("x", {{"text", kHostile + "\xE2\x80\xA9"}});
  const std::string begin = "<script type=\"application/json\" id=\"x\">", end = "</script>\n";
  ASSERT_TRUE(made.starts_with(begin) && made.ends_with(end));
  const std::string inside = made.substr(begin.size(), made.size() - begin.size() - end.size());
  EXPECT_EQ(inside.find_first_of("<>&"), std::string::npos) << inside;
  EXPECT_THAT(inside, HasSubstr("\\u003c/script\\u003e"));
  EXPECT_THAT(inside, Not(HasSubstr("\xE2\x80\xA8")));
  EXPECT_EQ(Json::parse(inside)["text"], kHostile + "\xE2\x80\xA9");
}

TEST(Report, HostileTextIsNeverMarkup) {
  const Scratch scratch;
  LoggedRun run(scratch, "<img src=y>");
  run.begin_attempt(0, 0);
  run.add("train", 1, {{"loss", 1.5}, {kHostile, 3}});
  run.add("eval", 1, {{"loss", 1.0}, {kHostile, 2.0}, {kHostile + "_signature", kHostile}});
  run.add("generations", 1,
          {{"generations", {{{"temperature", kHostile}, {"prompt", kHostile}, {"text", kHostile}}, 7}}});
  run.add("trace", 1, {{"file", kHostile}, {"rows", {{{"kind", kHostile}, {"what", kHostile}, {"ms", kHostile}}}}});
  run.add("save", 1, {{"path", kHostile}});
  run.add("save_failed", 1, {{kHostile, kHostile}});
  run.write("job.yaml", "name: '</script>'\nmodel:\n  width: 1\n");
  run.write("run.json", Json{{kHostile, kHostile}}.dump());
  for (const Drawing drawing : {Drawing::Curves, Drawing::Pictures}) {
    const std::string page = report_page({run.written()}, {.drawing = drawing});
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<!-- &")));
    EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xAE")));
    const Json told = block(page, "run-0");
    EXPECT_THAT(told["generations"][0]["texts"][0]["prompt"].get<std::string>(), HasSubstr("</script><img src=x"));
    EXPECT_EQ(told["name"], "<img src=y>");
  }
}

TEST(Report, BrokenLinesAreSkipped) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  run.add("train", 1, {{"loss", 1.5}});
  for (const char* line :
       {"", "{", "[]", "7", "null", "\"text\"", "{\"event\":\"train\"}", "{\"event\":7,\"step\":2,\"attempt\":0}",
        "{\"event\":\"train\",\"step\":2.5,\"attempt\":0}", "{\"event\":\"train\",\"step\":1e300,\"attempt\":0}",
        "{\"event\":\"train\",\"step\":18446744073709551615,\"attempt\":0}",
        "{\"event\":\"train\",\"step\":9223372036854775807,\"attempt\":0}",
        "{\"event\":\"train\",\"step\":2,\"step\":3,\"attempt\":0}",
        "{\"event\":\"train\",\"step\":2,\"attempt\":0,\"loss\":1e999}",
        "{\"event\":\"train\",\"step\":2,\"attempt\":0,\"x\":\"\\ud800\"}",
        "{\"event\":\"train\",\"step\":2,\"attempt\":0,\"x\":\"\xff\"}"}) {
    run.add_text(line);
  }
  run.add_text("{\"event\":\"train\",\"step\":2,\"attempt\":0,\"x\":" + std::string(100, '[') + std::string(100, ']') +
               "}");
  run.add_text(std::string(5 << 20, 'x'));
  run.add_text("{\"event\":\"train\",\"step\":2,\"attempt\":0,\"x\":\"" + std::string(40 << 20, 'y') + "\"}");
  // Types that no weft writes.
  run.add_text(R"({"event":"train","step":3,"attempt":0,"time":7,"loss":[1,2],"busy_ms":{"a":1},"tokens":"many"})");
  run.add_text(R"({"event":"eval","step":3,"attempt":0,"loss":{},"bleu_signature":1,"bleu":[]})");
  run.add_text(R"({"event":"generations","step":3,"attempt":0,"generations":{"a":[]}})");
  run.add_text(R"({"event":"start","step":3,"attempt":-1,"provenance":[1],"max_steps":{}})");
  run.write("job.yaml", "- [");
  run.write("run.json", "{\"a\":");
  run.add("train", 4, {{"loss", 2.5}});
  const Json told = block(report_page({run.written()}), "run-0");
  EXPECT_EQ(told["train"]["step"], (Json{1, 3, 4}));
  EXPECT_EQ(told["train"]["values"]["loss"]["mean"], (Json{1.5, nullptr, 2.5}));
}

}  // namespace
}  // namespace weft
