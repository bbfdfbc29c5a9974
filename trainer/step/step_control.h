// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "checkpoint/save_states.h"
#include "parallel/communicator.h"
#include "trainer/step/stragglers.h"

namespace weft {

// The values that the control all-reduce of a step sums over all ranks; their size is the same for any number of ranks.
// Of the ranks that share a replica (tp) only the first counts its loss and tokens.
struct ControlSums {
  double loss = 0, nll = 0;  // nats, over the step's target tokens
  double tokens = 0;         // source and target tokens
  double squared_norm = 0;   // the squared norm of the gradients before clipping
  double stop_asked = 0;     // ranks that were asked to stop
  SaveStates save;           // ranks by their progress with the save under way
  double save_due = 0;       // ranks on whose clock a save is due; only rank 0 has a clock
  double unagreed = 0;       // ranks that have measured algorithms that are not agreed on
};
// Returns the same sums on every rank. Collective.
ControlSums reduce_control(Communicator& world, const ControlSums& mine);

// Seconds that one rank spent, in one step or in several.
struct RankTimes {
  double busy = 0;       // everything but data and wait: this step's forward and backward, the last step's update
  double data = 0;       // waiting for the loader
  double wait = 0;       // waiting in collectives
  double exposed = 0;    // waiting, by the host or its device, for gradients after backward and for updated weights
  double update = 0;     // the gradient norm and the update, without waiting in collectives
  double copy_wait = 0;  // waiting for a checkpoint copy, in this update (on a GPU: in the previous one)

  RankTimes& operator+=(const RankTimes& other);
};
// Returns the times of every rank on rank 0, and empty lists elsewhere. Collective, for the steps that are logged.
TimesByRank gather_times(Communicator& world, const RankTimes& mine);

}  // namespace weft
