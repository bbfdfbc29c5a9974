// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/core.h>

#include <string>

#include "base/process/console.h"

namespace weft {

// Console logging over spdlog, to stderr, each message in one write (base/output.h). Only rank 0 logs information;
// warnings and errors come from every rank, tagged with rank and host once start_logging() has set them. Threads may
// log meanwhile.
void start_logging(int rank, int world_size);

// The console that log lines go to.
Console& console();

void log_text(int level, const std::string& text);  // 0 info, 1 warning, 2 error

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_text(0, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_text(1, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_text(2, fmt::format(format, std::forward<Args>(args)...));
}

std::string host_name();

}  // namespace weft
