// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

// The wall time in UTC as ISO 8601 writes it, to the second: what the logs of a kernel or of Slurm are matched by.
std::string utc_time();
// The seconds since 1970 of such a text; nullopt for any other.
std::optional<int64_t> seconds_of_utc(std::string_view text);

// Seconds of a clock that is never set back; only differences mean anything.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Wall time in seconds, by a clock that is never set back.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace weft
