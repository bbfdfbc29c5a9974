// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/config/writer.h"
#include "base/error.h"

namespace weft {
namespace {

struct Limits {
  std::optional<Duration> most;
  template <class Visitor>
  void fields(Visitor& v) {
    v.field("most", most, "At most.");
  }
};

TEST(Duration, IsReadWithItsUnits) {
  for (const auto& [text, seconds] : {std::pair("3h45m", 13500),
                                      {"90s", 90},
                                      {"90m", 5400},
                                      {"1d12h", 129600},
                                      {"1d2h3m4s", 93784},
                                      {"1s", 1},
                                      {"0h1m", 60}}) {
    const auto duration = text_to_duration(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_EQ(duration->seconds, seconds) << text;
    EXPECT_EQ(text_to_duration(duration_text(*duration)), duration) << text;
  }
  EXPECT_EQ(duration_text({.seconds = 5400}), "1h30m");
}

TEST(Duration, NothingElseIsADuration) {
  for (const char* text : {"",
                           "inf",
                           ".inf",
                           "nan",
                           "0s",
                           "3",
                           "3.5h",
                           "-3h",
                           "+3h",
                           "3 h",
                           "45m3h",
                           "3h3h",
                           "h",
                           "3h45",
                           "1e3s",
                           "0x3h",
                           "99999999999999999999h",
                           "1000000d",
                           "9223372036854775807s",
                           "forever"}) {
    EXPECT_FALSE(text_to_duration(text)) << text;
  }
}

TEST(Duration, ADurationInAJobIsReadAndWritten) {
  const auto limits = parse_config<Limits>("most: 3h45m\n", "job.yaml");
  ASSERT_TRUE(limits.most);
  EXPECT_EQ(limits.most->seconds, 13500);
  EXPECT_EQ(to_yaml(limits), "most: 3h45m\n");
  EXPECT_FALSE(parse_config<Limits>("most: null\n", "job.yaml").most);
  for (const char* wrong : {"inf", ".inf", "3", "1e3", "three", "[3h]"}) {
    try {
      parse_config<Limits>(fmt::format("most: {}\n", wrong), "job.yaml");
      ADD_FAILURE() << wrong;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("job.yaml:1:7: most: expected a duration such as 3h45m or 90s, got "),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace weft
