// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::cuda_device {

// From now on a host access to device memory, or to pinned memory while a copy is in flight, becomes a report; any
// other fault of the program reaches its previous handler.
void explain_faults();

}  // namespace weft::cuda_device
