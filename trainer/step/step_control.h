// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "checkpoint/writer.h"
#include "parallel/communicator.h"
#include "trainer/step/stragglers.h"

namespace weft {

// Sums over all ranks of what each brings to the control all-reduce of a step: as many bytes on any number of ranks. Of
// ranks that share a replica (tp) only the first counts its loss and tokens.
struct ControlSums {
  double loss = 0, nll = 0;  // nats, over the step's target tokens
  double tokens = 0;         // source and target tokens, those that are only fed included
  double squared_norm = 0;   // of the gradients, before clipping
  double stop_asked = 0;     // ranks that were asked to stop
  SaveStates save;           // of the save under way
  double save_due = 0;       // ranks by whose clock a save is due (rank 0 alone has one)
  double unagreed = 0;       // ranks that have measured algorithms which the others do not know
};
// What all ranks know after the one control all-reduce of a step.
ControlSums reduce_control(Communicator& world, const ControlSums& mine);

// Seconds of one rank, of a step or of several.
struct StepTimes {
  double busy = 0;     // without waiting in collectives
  double data = 0;     // waiting for the loader
  double wait = 0;     // waiting in collectives
  double exposed = 0;  // waiting, by the host or its device, for gradients at the end of its backward

  StepTimes& operator+=(const StepTimes& other);
};
// Those of all ranks, on rank 0; elsewhere empty. Collective: for steps that are logged.
RankTimes gather_times(Communicator& world, const StepTimes& mine);

}  // namespace weft
