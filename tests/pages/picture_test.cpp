// SPDX-License-Identifier: Apache-2.0
#include "pages/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pages/report.h"
#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;

TEST(Picture, TicksAreRound) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(0.07, 0.21, 3), (std::vector<double>{0.1, 0.15000000000000002, 0.2}));
  EXPECT_TRUE(round_ticks(1, 1, 5).empty());
  EXPECT_LE(round_ticks(-1e300, 1e300, 5).size(), 50U);
}

TEST(Picture, APageWithoutDygraphsHasStillCurves) {
  const Scratch scratch;
  LoggedRun run(scratch);
  for (int64_t step = 1; step <= 9; ++step) {
    const Json loss = step == 5 ? Json(nullptr) : Json(1.0 / static_cast<double>(step));
    run.add("train", step, {{"loss", loss}, {"lr", 1e-3}, {"busy_ms", {1, 2, 3}}});
  }
  run.add("eval", 9, {{"loss", 0.5}});
  const std::string page = report_page({run.written()}, {.drawing = Drawing::Pictures});
  EXPECT_EQ(block(page, "report")["drawing"], "pictures");
  for (const char* id : {"picture-loss", "picture-lr", "picture-busy_ms"}) EXPECT_THAT(page, HasSubstr(id));
  const size_t loss = page.find("picture-loss");
  const std::string svg = page.substr(loss, page.find("</svg>", loss) - loss);
  const size_t line = svg.find("class=\"line c0\"");
  const std::string path = svg.substr(line, svg.find("/>", line) - line);
  EXPECT_EQ(std::ranges::count(path, 'M'), 2) << "a gap at step 5: " << path;
  EXPECT_EQ(std::ranges::count(path, 'L'), 6) << path;
  EXPECT_THAT(svg, HasSubstr("class=\"line c1 rare\""));
  EXPECT_THAT(page, HasSubstr("class=\"band c0\""));
}

}  // namespace
}  // namespace weft
