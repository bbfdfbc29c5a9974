// SPDX-License-Identifier: Apache-2.0
// The cost of each kernel's launches, so that a test can check every kernel and a run can be analysed kernel by
// kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simulator/machine/counters.h"
#include "simulator/machine/launch.h"

namespace weft::cuda_device {

struct KernelCounts {
  Counters counted;           // all launches together
  uint64_t blocks = 0;        // all launches together
  uint64_t threads = 0;       // threads of its largest block
  uint64_t shared_bytes = 0;  // the most of any block, static and dynamic
  void add(const Launch& launch, const Counters& cost);
  KernelCounts& operator+=(const KernelCounts& other);
};

using CountsByKernel = std::map<std::string, KernelCounts>;  // by the readable name

// Writes a list with one JSON object for each kernel: its name and all of its counters. Throws std::runtime_error if
// the file cannot be written.
void write_counts(const CountsByKernel& counts, const std::string& path);

}  // namespace weft::cuda_device
