// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>

namespace weft {

// Runs `work` in a thread of its own, which is abandoned if it takes longer. True if it ended in time.
bool finish_within(std::chrono::seconds time, const std::function<void()>& work);

}  // namespace weft
