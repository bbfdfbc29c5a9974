// SPDX-License-Identifier: Apache-2.0
#include "base/process/machine.h"

#include <sys/resource.h>

#include <fstream>

namespace weft {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t value = line.find_first_not_of(": \t", line.find(':'));
    if (value != std::string::npos) return line.substr(value);
  }
  return "unknown";
}

size_t peak_resident_bytes() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<size_t>(use.ru_maxrss) * 1024;
}

}  // namespace weft
