// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

// The state of the save under way, summed over the ranks in the control all-reduce of each step.
struct SaveStates {
  double written = 0;    // ranks that have written their part
  double failed = 0;     // ranks that failed; rank 0 also if it could not commit
  double committed = 0;  // 1 once rank 0 has committed
};

}  // namespace weft
