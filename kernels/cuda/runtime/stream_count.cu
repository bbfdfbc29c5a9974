// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/stream_count.h"

namespace weft::cuda {
namespace {

using Number = std::atomic<uint64_t>;
static_assert(sizeof(Number) == sizeof(uint64_t) && Number::is_always_lock_free);

// The stream's order makes one addition follow the other.
__global__ void count_up(uint64_t* number) { *number += 1; }

}  // namespace

StreamCount::StreamCount(int device) {
  select_device(device);
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, sizeof(Number)), "allocating pinned host memory");
  number_ = {new (pinned) Number(0),
             [](Number* number) { check_quietly(cudaFreeHost(number), "freeing pinned host memory"); }};
}

void StreamCount::up(const Stream& stream) const {
  launch(stream, count_up, 1, 1, 0, reinterpret_cast<uint64_t*>(number_.get()));
}

}  // namespace weft::cuda
