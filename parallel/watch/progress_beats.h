// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "parallel/watch/heartbeat.h"

namespace weft {

// What Context::on_progress() calls, made by the main thread. A sign of work on another thread, such as the one that
// writes a checkpoint beside the steps, is progress of the rank only while the main thread waits for it, in
// RunPhase::Save: in every other phase it would hide a main thread that hangs.
std::function<void()> progress_beats(std::shared_ptr<Heartbeat> heartbeat);

}  // namespace weft
