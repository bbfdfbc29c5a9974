// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/progress_beats.h"

#include <thread>
#include <utility>

namespace weft {

std::function<void()> progress_beats(std::shared_ptr<Heartbeat> heartbeat) {
  return [heartbeat = std::move(heartbeat), main = std::this_thread::get_id()] {
    if (std::this_thread::get_id() == main || heartbeat->read().phase == RunPhase::Save) heartbeat->beat();
  };
}

}  // namespace weft
