// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/chrono.h>

#include <chrono>
#include <ctime>
#include <string>

namespace weft {

// The wall time in UTC as ISO 8601 writes it, to the second: what the logs of a kernel or of Slurm are matched by.
inline std::string utc_time() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

// Seconds of a clock that is never set back; only differences mean anything.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Wall time in seconds, by a clock that is never set back.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace weft
