// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <mutex>

#include "base/output.h"

namespace weft {
namespace {

constexpr const char* kBare = "%v";

// spdlog's own sinks go through stdio, which may cut a line; see base/output.h.
class StandardError : public spdlog::sinks::base_sink<std::mutex> {
 public:
  StandardError() : base_sink(std::make_unique<spdlog::pattern_formatter>(kBare)) {}
  Console& console() { return console_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    console_.write(message.level < spdlog::level::warn ? ConsoleText::Line : ConsoleText::Problem,
                   {text.data(), text.size()});
  }
  void flush_() override {}

  Console console_{STDERR_FILENO};
};

// Threads may log while start_logging() runs, so it changes this logger in place: its level is an atomic, and its sink
// locks the pattern. The first message makes it, as of rank 0 in a world of one rank.
spdlog::logger& logger() {
  static spdlog::logger made("weft", std::make_shared<StandardError>());
  return made;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void start_logging(int rank, int world_size) {
  logger().set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
  // Info lines stay bare to be readable; only warnings and errors name the rank that logs them.
  logger().set_pattern(rank == 0 || world_size == 1 ? kBare : fmt::format("[rank {} {}] {}", rank, host_name(), kBare));
}

Console& console() { return static_cast<StandardError&>(*logger().sinks().front()).console(); }

void log_text(int level, const std::string& message) {
  const std::string text = printable(message);
  switch (level) {
    case 0:
      logger().info("{}", text);
      break;
    case 1:
      logger().warn("warning: {}", text);
      break;
    default:
      logger().error("error: {}", text);
      break;
  }
}

}  // namespace weft
