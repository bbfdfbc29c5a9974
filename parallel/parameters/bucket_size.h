// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/tensor.h"

namespace weft {

// The best number of bytes of gradients for `replicas` replicas of a model to exchange at once on devices of this kind:
//
//   CPU   8 MiB, as measured (docs/layouts.md)
//   CUDA  max(25 MiB, replicas x 0.5 MiB), and no more than 256 MiB
//
// A ring sends a bucket in as many pieces as there are replicas, one after the other. A piece of 0.5 MiB takes 10 us on
// a network adapter of 400 Gb/s, about the time of one hop; smaller pieces would mostly wait. 25 MiB take about 0.15 ms
// between the devices of a node, which is what the last bucket costs there, since no computation hides it, and need few
// launches. 256 MiB bound the memory that a bucket takes if gradients are never held whole. For 64 H100s weft plan
// predicts 16 to 32 MiB to be the best, and 8 MiB to wait for hops.
int64_t gradient_bucket_bytes(const Device& device, int replicas);

}  // namespace weft
