// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace weft {

// Bytes per second that all `threads` together read of one array of 512 MiB, the best of `repeats` passes after a first
// pass. Decoding, which reads every weight for every token, is compared with this rate. The array exceeds a core's
// caches, and may lie partly in a cache that the whole machine shares, as such weights do.
double measure_read_bandwidth(int threads, int repeats = 8);

}  // namespace weft
