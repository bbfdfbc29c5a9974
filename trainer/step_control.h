#pragma once
#include <vector>

#include "checkpoint/writer.h"

namespace weft {

// Sums over all ranks of what each brings to the control all-reduce of a step. Of ranks that share a replica (tp) only
// the first counts its loss and tokens.
struct ControlSums {
  double loss = 0, nll = 0;  // nats, over the step's target tokens
  double tokens = 0;         // source and target tokens, those that are only fed included
  double squared_norm = 0;   // of the gradients, before clipping
  double stop_asked = 0;     // ranks that were asked to stop
  SaveStates save;           // of the save under way
  double save_due = 0;       // ranks by whose clock a save is due (rank 0 alone has one)
  double unagreed = 0;       // ranks that have measured algorithms which the others do not know
};

// Seconds of one rank.
struct RankControl {
  double busy = 0;     // without waiting in collectives
  double data = 0;     // waiting for the loader
  double wait = 0;     // waiting in collectives
  double exposed = 0;  // waiting for gradients at the end of its backward
};

// What all ranks know after the one control all-reduce of a step.
struct StepControl {
  ControlSums sums;
  std::vector<RankControl> ranks;  // by world rank
};
StepControl reduce_control(Communicator& world, const ControlSums& mine, const RankControl& times);

}  // namespace weft
