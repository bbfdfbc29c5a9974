// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/children.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

#include "base/files.h"

namespace weft {
namespace {

struct Stat {
  char state = 'X';
  pid_t parent = 0;
};

// The name of a process, in brackets, may hold anything.
Stat stat_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  Stat found;
  std::istringstream(text.substr(name_end + 1)) >> found.state >> found.parent;
  return found;
}

}  // namespace

std::vector<pid_t> stopped_children(pid_t parent) {
  std::vector<pid_t> stopped;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc()) continue;
    const Stat found = stat_of(process);
    if (found.parent == parent && (found.state == 'T' || found.state == 't')) stopped.push_back(process);
  }
  std::ranges::sort(stopped);
  return stopped;
}

char state_of_process(pid_t process) { return stat_of(process).state; }

}  // namespace weft
