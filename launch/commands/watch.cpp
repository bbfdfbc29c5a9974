// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "base/clock.h"
#include "base/output.h"
#include "base/process/signals.h"
#include "launch/commands.h"
#include "pages/terminal_view.h"
#include "trainer/run/run_lock.h"

namespace weft {
namespace {

struct WatchArguments {
  std::string run;
  int64_t every = 2;
  bool once = false;
};

// Whether the locale's characters are UTF-8, as the first of these variables that is set says.
bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    const std::string locale(value);
    return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

TerminalSize terminal_size() {
  TerminalSize size{.utf8 = speaks_utf8()};
  struct winsize found {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_col > 0 && found.ws_row > 0) {
    size.columns = found.ws_col, size.rows = found.ws_row;
  }
  return size;
}

std::vector<std::string> view_of(const fs::path& run, const TerminalSize& size) {
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return terminal_view(RunHistory(run, threads), is_owned(run), static_cast<double>(std::time(nullptr)), size);
}

// The second screen that terminals keep for programs that fill it (xterm's control sequences): what was there before
// comes back when it is left.
class SecondScreen {
 public:
  SecondScreen() { print("\x1b[?1049h\x1b[?25l"); }
  ~SecondScreen() {
    try {
      print("\x1b[?25h\x1b[?1049l");
    } catch (const DataError&) {  // the terminal is gone
    }
  }
  SecondScreen(const SecondScreen&) = delete;
  SecondScreen& operator=(const SecondScreen&) = delete;

  // Every line is written over the one before and the rest of it erased: clearing first would flicker.
  static void show(const std::vector<std::string>& lines) {
    std::string text = "\x1b[H";
    for (size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\r\n" : "") + lines[i] + "\x1b[K";
    print(text + "\x1b[J");
  }
};

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
    lines.emplace_back("Ctrl-C leaves; the run goes on");
    SecondScreen::show(lines);
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
