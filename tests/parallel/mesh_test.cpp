// SPDX-License-Identifier: Apache-2.0
#include "parallel/mesh.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

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

// On each axis every rank has a place of its own, and groups are full.
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

TEST(Mesh, LooksAxesUpByName) {
  const Mesh mesh = Mesh::single();
  for (const MeshAxis axis : {MeshAxis::World, MeshAxis::Dp, MeshAxis::Tp}) EXPECT_EQ(mesh.on(axis).axis(), axis);
  const auto other = [](const AxisPlace&) { return single_communicator(MeshAxis::World); };
  EXPECT_THROW(Mesh({}, 0, other), InternalError);
}

}  // namespace
}  // namespace weft
