// SPDX-License-Identifier: Apache-2.0
#include "parallel/clock_offset.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parallel/local/in_process.h"

namespace weft {
namespace {

// Ranks of one machine share a clock: what is found to be between them is within the error that is stated.
TEST(ClockOffsets, AreWithinTheirErrorIfAllRanksHaveOneClock) {
  run_in_process({.dp = 3}, [](Mesh& mesh, int rank) {
    const ClockOffset found = clock_offset(mesh.world());
    EXPECT_LE(std::abs(found.seconds), found.error);
    if (rank == 0) {
      EXPECT_EQ(found.error, 0);
    } else {
      EXPECT_GT(found.error, 0);
    }
  });
}

// A rank whose clock was begun an hour later, and one whose clock is ahead.
TEST(ClockOffsets, AreFoundBetweenClocksThatDiffer) {
  constexpr double kAhead[] = {5, -3600, 0.25};
  run_in_process({.dp = 3}, [&](Mesh& mesh, int rank) {
    const ClockOffset found = clock_offset(mesh.world(), [&] { return steady_seconds() + kAhead[rank]; });
    EXPECT_LE(std::abs(found.seconds - (kAhead[rank] - kAhead[0])), found.error + 1e-9);
  });
}

TEST(ClockOffsets, OneRankAloneHasNone) {
  const ClockOffset found = clock_offset(Mesh::single().world());
  EXPECT_EQ(found.seconds, 0);
  EXPECT_EQ(found.error, 0);
}

}  // namespace
}  // namespace weft
