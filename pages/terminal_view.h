// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/process/terminal.h"
#include "pages/history.h"

namespace weft {

// A run as `weft watch` shows it: how far it is, its latest numbers, what went wrong, its loss as a curve, its latest
// texts. At most size.rows lines of at most size.columns characters; what matters least is left out where there is no
// room. owned: whether a process holds the run's lock; now: seconds since 1970.
std::vector<std::string> terminal_view(const RunHistory& run, bool owned, double now, const TerminalSize& size);

}  // namespace weft
