// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/agreed_algorithms.h"

#include "base/log.h"
#include "kernels/device/tuning.h"
#include "parallel/agree.h"

namespace weft {

bool has_unagreed_algorithms(Context& context, const Communicator& world) {
  return world.size() > 1 && !newly_tuned(context).empty();
}

void agree_on_algorithms(Context& context, Communicator& world) {
  if (agree_tuned(context, gather_texts(world, newly_tuned(context))) == 0) return;
  log_info(
      "ranks compute on different kinds of devices: each kind has its own algorithms, and those of rank 0's kind are "
      "kept");
}

bool settle_algorithms(Context& context, Communicator& world) {
  const double mine = has_unagreed_algorithms(context, world) ? 1 : 0;
  if (world.all_reduce_host(mine, ReduceOp::Max) == 0) return false;
  agree_on_algorithms(context, world);
  return true;
}

}  // namespace weft
