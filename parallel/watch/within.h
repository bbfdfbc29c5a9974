// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>

namespace weft {

// Runs `work` in its own thread, which is abandoned if it takes longer than `time`. True if `work` ended in time.
bool finish_within(std::chrono::seconds time, const std::function<void()>& work);

}  // namespace weft
