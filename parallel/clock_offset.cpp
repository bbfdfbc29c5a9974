// SPDX-License-Identifier: Apache-2.0
#include "parallel/clock_offset.h"

#include <limits>

namespace weft {
namespace {

constexpr int kExchanges = 8;

}  // namespace

ClockOffset clock_offset(Communicator& world, const std::function<double()>& clock) {
  ClockOffset best{.error = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < kExchanges; ++i) {
    world.barrier();
    // Rank 0 takes the time once all ranks have asked, and before any has the answer.
    const double asked = clock();
    world.gather_host({&asked, 1});
    const double answer = world.all_reduce_host(world.rank() == 0 ? clock() : 0, ReduceOp::Sum);
    const double answered = clock();
    const double error = (answered - asked) / 2;
    if (error < best.error) best = {.seconds = (asked + answered) / 2 - answer, .error = error};
  }
  return world.rank() == 0 ? ClockOffset{} : best;
}

}  // namespace weft
