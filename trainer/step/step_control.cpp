// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/step_control.h"

#include <array>
#include <bit>

namespace weft {

ControlSums reduce_control(Communicator& world, const ControlSums& mine) {
  auto values = std::bit_cast<std::array<double, sizeof(ControlSums) / sizeof(double)>>(mine);
  world.all_reduce_host(values, ReduceOp::Sum);
  return std::bit_cast<ControlSums>(values);
}

RankTimes& RankTimes::operator+=(const RankTimes& other) {
  busy += other.busy, data += other.data, wait += other.wait, exposed += other.exposed;
  update += other.update, copy_wait += other.copy_wait;
  return *this;
}

TimesByRank gather_times(Communicator& world, const RankTimes& mine) {
  using Values = std::array<double, 4>;
  const Values values = {mine.busy, mine.data, mine.wait, mine.exposed};
  const std::vector<double> all = world.gather_host(values);
  TimesByRank times;
  for (size_t at = 0; at < all.size(); at += values.size()) {
    times.busy.push_back(all[at]), times.data.push_back(all[at + 1]);
    times.wait.push_back(all[at + 2]), times.exposed.push_back(all[at + 3]);
  }
  return times;
}

}  // namespace weft
