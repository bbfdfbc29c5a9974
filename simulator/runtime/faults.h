// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::cuda_device {

// From now on a host access to device memory, or to pinned memory while a copy is in flight, is a report with a
// sentence; any other fault of the program goes where it went before.
void explain_faults();

}  // namespace weft::cuda_device
