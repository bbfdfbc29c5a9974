// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "base/clock.h"
#include "parallel/communicator.h"

namespace weft {

// What this rank's steady clock shows less what rank 0's shows at the same moment, in seconds, and the most by which
// that may be wrong.
struct ClockOffset {
  double seconds = 0, error = 0;
};

// Asks rank 0 for its time, and takes the middle between the question and the answer for the moment of that time (F.
// Cristian, 1989), from the fastest of several exchanges. Collective.
ClockOffset clock_offset(Communicator& world, const std::function<double()>& clock = steady_seconds);

}  // namespace weft
