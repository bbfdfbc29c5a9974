// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/step_control.h"

#include <gtest/gtest.h>

#include "parallel/local/in_process.h"

namespace weft {
namespace {

TEST(Control, SumsWhatEveryRankBrings) {
  run_in_process({.dp = 3}, [](Mesh& mesh, int rank) {
    const double mine = rank + 1;
    const ControlSums sums = reduce_control(mesh.world(), {.loss = mine,
                                                           .nll = 10 * mine,
                                                           .tokens = 100 * mine,
                                                           .squared_norm = 0.5 * mine,
                                                           .stop_asked = rank == 2 ? 1.0 : 0.0,
                                                           .save = {.written = 1, .failed = mine, .committed = 0},
                                                           .save_due = rank == 0 ? 1.0 : 0.0,
                                                           .unagreed = rank > 0 ? 1.0 : 0.0});
    EXPECT_EQ(sums.loss, 6);
    EXPECT_EQ(sums.nll, 60);
    EXPECT_EQ(sums.tokens, 600);
    EXPECT_EQ(sums.squared_norm, 3);
    EXPECT_EQ(sums.stop_asked, 1);
    EXPECT_EQ(sums.save.written, 3);
    EXPECT_EQ(sums.save.failed, 6);
    EXPECT_EQ(sums.save.committed, 0);
    EXPECT_EQ(sums.save_due, 1);
    EXPECT_EQ(sums.unagreed, 2);
    EXPECT_EQ(mesh.world().traffic().total().bytes, 80);
  });
}

TEST(Control, TimesAreGatheredOnRank0) {
  run_in_process({.dp = 3}, [](Mesh& mesh, int rank) {
    RankTimes mine{.busy = 1.0 + rank, .data = 2.0 + rank, .wait = 3.0 + rank, .exposed = 4.0 + rank};
    mine += mine;
    const TimesByRank times = gather_times(mesh.world(), mine);
    using Values = std::vector<double>;
    EXPECT_EQ(times.busy, rank == 0 ? (Values{2, 4, 6}) : Values());
    EXPECT_EQ(times.data, rank == 0 ? (Values{4, 6, 8}) : Values());
    EXPECT_EQ(times.wait, rank == 0 ? (Values{6, 8, 10}) : Values());
    EXPECT_EQ(times.exposed, rank == 0 ? (Values{8, 10, 12}) : Values());
  });
}

}  // namespace
}  // namespace weft
