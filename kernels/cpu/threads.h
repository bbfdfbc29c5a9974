// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::cpu {

// How many OpenMP threads regions started by the calling thread use, the vendor library's included: rank threads of
// one process each keep to their share.
void set_thread_count(int threads);

}  // namespace weft::cpu
