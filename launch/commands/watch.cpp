// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/clock.h"
#include "base/output.h"
#include "base/process/signals.h"
#include "base/process/terminal.h"
#include "launch/commands.h"
#include "pages/terminal_view.h"
#include "parallel/session.h"
#include "trainer/run/run_lock.h"

namespace weft {
namespace {

struct WatchArguments {
  std::string run;
  int64_t every = 2;
  bool once = false;
};

std::vector<std::string> view_of(const fs::path& run, const TerminalSize& size) {
  return terminal_view(RunHistory(run, threads_alone()), is_owned(run), static_cast<double>(std::time(nullptr)), size);
}

void wait(double seconds) {
  const double end = steady_seconds() + seconds;
  while (!StopSignals::stop_asked() && steady_seconds() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void follow(const WatchArguments& a) {
  const StopSignals signals;
  const SecondScreen screen;
  while (!StopSignals::stop_asked()) {
    const double began = steady_seconds();
    TerminalSize size = terminal_size();
    --size.rows;  // for the last line
    std::vector<std::string> lines = view_of(a.run, size);
    lines.resize(static_cast<size_t>(size.rows));
    lines.emplace_back("Ctrl-C leaves; the run continues");
    screen.show(lines);
    // A log of millions of lines takes seconds to read: most of the time is left to the machine.
    constexpr double kShare = 5;
    wait(std::max(static_cast<double>(a.every), kShare * (steady_seconds() - began)));
  }
}

ExitCode watch(const WatchArguments& a) {
  if (isatty(STDOUT_FILENO) != 0 && !a.once) {
    follow(a);
    return ExitCode::Done;
  }
  for (const std::string& line : view_of(a.run, terminal_size())) print(line + "\n");
  return ExitCode::Done;
}

}  // namespace

void add_watch_command(Command& app, Action& action) {
  Command command = app.add_command(
      "watch", "Follow a run in a terminal: progress, speed, time left, loss as a curve, alarms, the latest texts.",
      Workers::OneProcess);
  command.footer(
      "  weft watch runs/NAME\n"
      "  weft watch runs/NAME --once | mail -s 'how it is going' me\n"
      "It reads the run's directory alone, so it works on any machine that sees it, and the run does not notice. A\n"
      "line that begins with ! says what went wrong: a save that failed, skipped steps, rollbacks, a log that has\n"
      "grown silent, a run that no process works on any more.");
  auto a = std::make_shared<WatchArguments>();
  command.add_option("run", a->run, "Run directory (runs/NAME)").required().type_name("RUN");
  command.add_option("--every", a->every, "Seconds between two looks").positive().type_name("SECONDS").show_default();
  command.add_flag("--once", a->once, "Print what there is and end, as it does where the output is no terminal");
  command.on_parsed([=, &action] { action = [=] { return watch(*a); }; });
}

}  // namespace weft
