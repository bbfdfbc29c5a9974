// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "base/output.h"

namespace weft {
namespace {

constexpr const char* kLogger = "weft";

// spdlog's own sinks go through stdio, which may cut a line; see base/output.h.
class StandardError : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit StandardError(std::shared_ptr<Console> console) : console_(std::move(console)) {}
  const std::shared_ptr<Console>& console() const { return console_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    console_->write(message.level < spdlog::level::warn ? ConsoleText::Line : ConsoleText::Problem,
                    {text.data(), text.size()});
  }
  void flush_() override {}

  std::shared_ptr<Console> console_;
};

bool logging_started() { return spdlog::default_logger_raw()->name() == kLogger; }

std::shared_ptr<Console> current_console() {
  if (!logging_started()) return std::make_shared<Console>(STDERR_FILENO);
  return static_cast<const StandardError&>(*spdlog::default_logger_raw()->sinks().front()).console();
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void start_logging(int rank, int world_size) {
  auto logger = std::make_shared<spdlog::logger>(kLogger, std::make_shared<StandardError>(current_console()));
  logger->set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
  const std::string who = world_size > 1 ? fmt::format("[rank {} {}] ", rank, host_name()) : "";
  // Info lines stay bare to be readable; only warnings and errors name the rank that logs them.
  logger->set_pattern(rank == 0 ? "%v" : who + "%v");
  spdlog::set_default_logger(logger);
}

Console& console() {
  if (!logging_started()) start_logging(0, 1);
  return *current_console();
}

void log_text(int level, const std::string& message) {
  const std::string text = printable(message);
  if (!logging_started()) start_logging(0, 1);
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
