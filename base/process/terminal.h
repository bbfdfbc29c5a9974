// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace weft {

// What a terminal can show, in characters.
struct TerminalSize {
  int columns = 80, rows = 24;
  bool utf8 = true;
};

// The size of the terminal on standard output; without one, 80 x 24.
TerminalSize terminal_size();

// The second screen that terminals keep for programs that fill it (xterm's control sequences): what was there before
// comes back when it is left.
class SecondScreen {
 public:
  SecondScreen();
  ~SecondScreen();
  SecondScreen(const SecondScreen&) = delete;
  SecondScreen& operator=(const SecondScreen&) = delete;

  // Writes over what is there. DataError if the terminal is gone.
  void show(const std::vector<std::string>& lines) const;
};

}  // namespace weft
