// SPDX-License-Identifier: Apache-2.0
#include "base/process/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/output.h"

namespace weft {
namespace {

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

}  // namespace

TerminalSize terminal_size() {
  TerminalSize size{.utf8 = speaks_utf8()};
  struct winsize found {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_col > 0 && found.ws_row > 0) {
    size.columns = found.ws_col, size.rows = found.ws_row;
  }
  return size;
}

SecondScreen::SecondScreen() { print("\x1b[?1049h\x1b[?25l"); }

SecondScreen::~SecondScreen() {
  try {
    print("\x1b[?25h\x1b[?1049l");
  } catch (const DataError&) {  // the terminal is gone
  }
}

// Each line is written over the one before, and the rest of that erased: clearing all of it first would flicker.
void SecondScreen::show(const std::vector<std::string>& lines) const {
  std::string text = "\x1b[H";
  for (size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\r\n" : "") + lines[i] + "\x1b[K";
  print(text + "\x1b[J");
}

}  // namespace weft
