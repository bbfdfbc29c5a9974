// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/kept_shapes.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(KeptShapes, AreThoseThatHaveOccurredBefore) {
  KeptShapes kept(4);
  EXPECT_FALSE(kept.take(1, {}));
  EXPECT_FALSE(kept.take(2, {}));
  EXPECT_FALSE(kept.contains(1));
  EXPECT_TRUE(kept.take(1, {}));
  EXPECT_TRUE(kept.contains(1));
  EXPECT_FALSE(kept.contains(2));
  EXPECT_TRUE(kept.take(1, {}));
}

// The shape that comes least gives its place to one that has come twice as often.
TEST(KeptShapes, AreNoMoreThanThereIsRoomFor) {
  KeptShapes kept(2);
  for (const uint64_t shape : {1, 1, 1, 2, 2}) kept.take(shape, {});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(kept.take(3, {})) << i;
  EXPECT_TRUE(kept.contains(1) && kept.contains(2));
  EXPECT_TRUE(kept.take(3, {})) << "the fourth time; 2 has come twice";
  EXPECT_FALSE(kept.contains(2));
  EXPECT_TRUE(kept.contains(1) && kept.contains(3));
  EXPECT_FALSE(kept.take(2, {}));
}

// Memory that graphs of small steps have taken would stay beside what a larger one takes.
TEST(KeptShapes, AreAllDroppedForALargerBucket) {
  KeptShapes kept(4);
  const BatchShape small{8, 64, 64}, wide{8, 96, 64}, tall{8, 64, 96};
  for (int i = 0; i < 2; ++i) kept.take(1, small);
  kept.take(2, wide);
  EXPECT_TRUE(kept.contains(1)) << "the first step of the larger shape has no graph";
  EXPECT_TRUE(kept.take(2, wide));
  EXPECT_FALSE(kept.contains(1));
  EXPECT_TRUE(kept.take(1, small)) << "it has occurred before";
  EXPECT_TRUE(kept.contains(2)) << "a smaller shape fits";
  kept.take(3, tall);
  EXPECT_TRUE(kept.take(3, tall));
  EXPECT_FALSE(kept.contains(1) || kept.contains(2));
  EXPECT_TRUE(kept.take(2, wide));
  EXPECT_TRUE(kept.contains(3)) << "no side is larger than all so far";
}

}  // namespace
}  // namespace weft
