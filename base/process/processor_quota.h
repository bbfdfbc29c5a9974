// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "base/files.h"

namespace weft {

// The processor time that a control group leaves its processes, as container engines and batch systems limit it. A
// plain block of bytes, so that ranks can exchange it.
struct ProcessorQuota {
  double processors = std::numeric_limits<double>::infinity();  // seconds of processor time in a second
  uint64_t group = 0;  // the group that sets the limit; its processes share the time

  bool limited() const { return processors < std::numeric_limits<double>::infinity(); }
};

// The tightest limit of this process's control groups, of version 2 (cpu.max) or 1 (cpu.cfs_quota_us), and of those
// that they lie in, as far as this process sees them. `root` is the folder that has proc/ and sys/.
ProcessorQuota processor_quota(const fs::path& root = "/");

// The most threads that process `me` should compute with: its part of the limit of its group, which the processes of
// `quotas` in the same group share, rounded up; threads beyond it would be stopped within each period. The largest int
// if there is no limit.
int threads_within(std::span<const ProcessorQuota> quotas, size_t me);

}  // namespace weft
