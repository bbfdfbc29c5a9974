// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace weft {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void start_logging(int rank, int world_size, bool quiet) {
  auto logger = std::make_shared<spdlog::logger>("weft", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(rank == 0 && !quiet ? spdlog::level::info : spdlog::level::warn);
  const std::string who = world_size > 1 ? fmt::format("[rank {} {}] ", rank, host_name()) : "";
  // Info lines are for a reader, so they stay bare; only problems carry the rank that has them.
  logger->set_pattern(rank == 0 ? "%v" : who + "%v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
}

void log_text(int level, const std::string& text) {
  switch (level) {
    case 0:
      spdlog::info("{}", text);
      break;
    case 1:
      spdlog::warn("warning: {}", text);
      break;
    default:
      spdlog::error("error: {}", text);
      break;
  }
}

}  // namespace weft
