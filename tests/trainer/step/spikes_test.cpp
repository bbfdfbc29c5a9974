// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/spikes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

const double kNone = std::numeric_limits<double>::infinity();

RunState after(const SpikesConfig& spikes, std::vector<double> losses) {
  RunState state;
  for (const double loss : losses) note_recent(spikes, loss, 10 * loss, state);
  return state;
}

TEST(Spikes, LimitIsTheMeanAndSomeDeviations) {
  const SpikesConfig spikes{.window = 4, .bound = 2, .of = SpikeOf::Either};
  const SpikeLimits limits = spike_limits(spikes, after(spikes, {2, 4, 4, 6}));
  const double deviation = std::sqrt(8.0 / 3);
  EXPECT_DOUBLE_EQ(limits.loss, 4 + 2 * deviation);
  EXPECT_DOUBLE_EQ(limits.norm, 10 * (4 + 2 * deviation));
  EXPECT_TRUE(limits.passed_by(7.3, 0));
  EXPECT_TRUE(limits.passed_by(0, 73));
  EXPECT_FALSE(limits.passed_by(7.2, 72));
}

TEST(Spikes, WindowHoldsTheLastSteps) {
  const SpikesConfig spikes{.window = 3};
  const RunState state = after(spikes, {100, 1, 2, 3});
  EXPECT_EQ(state.recent_losses, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(state.recent_norms, (std::vector<double>{10, 20, 30}));
  EXPECT_DOUBLE_EQ(spike_limits(spikes, state).loss, 2 + 6);
}

TEST(Spikes, NothingIsLimitedUntilTheWindowIsFull) {
  const SpikesConfig spikes{.window = 4, .of = SpikeOf::Either};
  EXPECT_EQ(spike_limits(spikes, after(spikes, {1, 2, 3})).loss, kNone);
  EXPECT_EQ(spike_limits(spikes, after(spikes, {1, 2, 3})).norm, kNone);
}

TEST(Spikes, EqualStepsHaveNoLimit) {
  const SpikesConfig spikes{.window = 3};
  EXPECT_EQ(spike_limits(spikes, after(spikes, {2, 2, 2})).loss, kNone);
}

TEST(Spikes, OnlyWhatTheJobNamesIsLimited) {
  SpikesConfig spikes{.window = 3};
  const RunState state = after(spikes, {1, 2, 3});
  EXPECT_EQ(spike_limits(spikes, state).norm, kNone);
  spikes.of = SpikeOf::Norm;
  EXPECT_EQ(spike_limits(spikes, state).loss, kNone);
  EXPECT_DOUBLE_EQ(spike_limits(spikes, state).norm, 20 + 60);
}

// A resumed run may have another window: a smaller one is taken from the newest steps, a larger one fills up first.
TEST(Spikes, AnotherWindowBeginsWithWhatThereIs) {
  const RunState state = after({.window = 4}, {100, 1, 2, 3});
  EXPECT_DOUBLE_EQ(spike_limits({.window = 3}, state).loss, 2 + 6);
  EXPECT_EQ(spike_limits({.window = 5}, state).loss, kNone);
  RunState next = state;
  note_recent({.window = 3}, 4, 40, next);
  EXPECT_EQ(next.recent_losses, (std::vector<double>{2, 3, 4}));
}

TEST(Spikes, AreOffByDefault) {
  const RunState state = after({}, {1, 2, 3});
  EXPECT_EQ(state, RunState{});
  EXPECT_EQ(spike_limits({}, after({.window = 3}, {1, 2, 3})).loss, kNone);
}

}  // namespace
}  // namespace weft
