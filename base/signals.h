#pragma once

namespace weft {

// While one lives, SIGUSR1, SIGTERM and SIGINT ask for a stop instead of ending the process: the training loop sees
// stop_asked() at its next step, saves and leaves. A second signal ends the process at once (128 + signal).
// At most one at a time: signal handlers are the process's own state, not this class's choice.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool stop_asked();
};

}  // namespace weft
