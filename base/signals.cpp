#include "base/signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace weft {
namespace {

constexpr std::array kSignals = {SIGUSR1, SIGTERM, SIGINT};

// A handler can reach nothing but static storage.
std::atomic<int>& received() {
  static std::atomic<int> count{0};
  static_assert(std::atomic<int>::is_always_lock_free);
  return count;
}

void on_signal(int signal) {
  if (received().fetch_add(1) > 0) _exit(128 + signal);
}

}  // namespace

StopSignals::StopSignals() {
  received() = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

StopSignals::~StopSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

bool StopSignals::stop_asked() { return received() > 0; }

}  // namespace weft
