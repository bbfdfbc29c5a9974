// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
TEST(Probe, Runs) { EXPECT_EQ(1, 1); }
