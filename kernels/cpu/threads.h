// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::cpu {

// Sets how many OpenMP threads serve regions that the calling thread starts, including those of the vendor library, so
// that rank threads of one process each keep to their share.
void set_thread_count(int threads);

}  // namespace weft::cpu
