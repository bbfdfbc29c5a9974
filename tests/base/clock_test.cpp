// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

#include <ctime>

namespace weft {
namespace {

TEST(Clock, UtcTimesAreReadBack) {
  EXPECT_EQ(seconds_of_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(seconds_of_utc("2024-02-29T23:59:59Z"), 1709251199);
  EXPECT_NEAR(static_cast<double>(seconds_of_utc(utc_time()).value()), static_cast<double>(std::time(nullptr)), 2);
  for (const char* text :
       {"", "2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00", "+024-01-01T00:00:00Z", "2024-01-01T00:-1:00Z", "2024-01-01T00:00:00ZZ"}) {
    EXPECT_EQ(seconds_of_utc(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weft
