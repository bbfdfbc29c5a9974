// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>

namespace weft {

// Runs `work` in a thread of its own, and leaves it to itself where it takes longer. Whether it came to its end.
bool finish_within(std::chrono::seconds time, const std::function<void()>& work);

}  // namespace weft
