// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <fmt/chrono.h>

#include <ctime>

namespace weft {

std::string utc_time() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace weft
