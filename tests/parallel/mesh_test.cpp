// SPDX-License-Identifier: Apache-2.0
#include "parallel/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "tests/support/error_of.h"

namespace weft {
namespace {

// dp 2 x tp 3: tp is the inner axis, so ranks 0, 1, 2 are one model's shards.
TEST(MeshLayout, TpRanksAreNeighbours) {
  const auto place = [](int world_rank, size_t axis) {
    const AxisPlace p = MeshLayout{.dp = 2, .tp = 3}.places(world_rank).at(axis);
    return std::tuple(p.axis, p.group, p.rank, p.size);
  };
  EXPECT_EQ(place(4, 0), std::tuple(MeshAxis::World, 0, 4, 6));
  EXPECT_EQ(place(4, 1), std::tuple(MeshAxis::Dp, 1, 1, 2));
  EXPECT_EQ(place(4, 2), std::tuple(MeshAxis::Tp, 1, 1, 3));
  EXPECT_EQ(place(2, 1), std::tuple(MeshAxis::Dp, 2, 0, 2));
  EXPECT_EQ(place(2, 2), std::tuple(MeshAxis::Tp, 0, 2, 3));
}

// On each axis every rank has a different place, and groups are full.
TEST(MeshLayout, GroupsDivideTheWorld) {
  for (const MeshLayout& layout : {MeshLayout{1, 1}, {4, 1}, {1, 4}, {3, 4}}) {
    std::map<MeshAxis, std::set<std::pair<int, int>>> taken;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      for (const AxisPlace& p : layout.places(rank)) {
        EXPECT_TRUE(taken[p.axis].emplace(p.group, p.rank).second) << name(p.axis) << " of rank " << rank;
        EXPECT_TRUE(p.rank < p.size && p.group < layout.ranks() / p.size);
      }
    }
    EXPECT_EQ(taken.size(), kGridAxes.size() + 1);
  }
}

TEST(MeshLayout, TextOfALayoutReadsBack) {
  EXPECT_EQ(grid_text(), "dp x tp");
  EXPECT_EQ((MeshLayout{.dp = 8, .tp = 2}.text()), "8 x 2");
  EXPECT_EQ(parse_layout("8x2"), (MeshLayout{.dp = 8, .tp = 2}));
  for (const char* text : {"", "8", "8x", "x2", "8x2x1", "8x0", "-8x2", "8 x 2", "8x99999999999"}) {
    EXPECT_EQ(parse_layout(text), std::nullopt) << text;
  }
}

TEST(MeshLayout, AllLayoutsOfSomeRanksAreListed) {
  EXPECT_EQ(layouts_of(6), (std::vector<MeshLayout>{{6, 1}, {3, 2}, {2, 3}, {1, 6}}));
  EXPECT_EQ(layouts_of(1), std::vector<MeshLayout>{{}});
}

// The sizes that a file states may have any value.
TEST(MeshLayout, AGridHasAsManyRanksAsItsSizesMultiplyTo) {
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_TRUE((MeshLayout{3, 4}.is_grid_of(12)));
  EXPECT_FALSE((MeshLayout{3, 4}.is_grid_of(13)));
  EXPECT_FALSE((MeshLayout{-3, -4}.is_grid_of(12)));
  EXPECT_FALSE((MeshLayout{0, 0}.is_grid_of(0)));
  EXPECT_FALSE((MeshLayout{kMost, kMost}.is_grid_of(1)));
}

TEST(MeshLayout, AReplicaIsRepeatedOverTheWorld) {
  EXPECT_EQ(layout_for(6, {.tp = 2}), (MeshLayout{.dp = 3, .tp = 2}));
  for (const MeshLayout& replica : {MeshLayout{.tp = 4}, {.tp = 0}, {.tp = -2}, {.tp = 12}}) {
    EXPECT_THAT(
        test::error_of([&] { layout_for(6, replica); }),
        testing::AllOf(testing::HasSubstr(fmt::format("parallel.tp = {} does not divide the 6 ranks", replica.tp)),
                       testing::HasSubstr("layouts (dp x tp) that fit: 6 x 1, 3 x 2, 2 x 3, 1 x 6")));
  }
}

TEST(Mesh, LooksAxesUpByName) {
  const Mesh mesh = Mesh::single();
  for (const MeshAxis axis : {MeshAxis::World, MeshAxis::Dp, MeshAxis::Tp}) EXPECT_EQ(mesh.on(axis).axis(), axis);
  const auto other = [](const AxisPlace&) { return single_communicator(MeshAxis::World); };
  EXPECT_THROW(Mesh({}, 0, other), InternalError);
}

}  // namespace
}  // namespace weft
