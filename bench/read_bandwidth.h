// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace weft {

// Bytes a second that all `threads` together read of one array of 512 MiB, the best of `repeats` passes after a first
// one: what decoding, which reads every weight for every token, is held to. The array is larger than what a core's
// caches hold, and may lie partly in one that the whole machine shares, as such weights do.
double measure_read_bandwidth(int threads, int repeats = 8);

}  // namespace weft
