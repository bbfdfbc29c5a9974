// SPDX-License-Identifier: Apache-2.0
#include "bench/read_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel_for.h"
#include "kernels/memory.h"

namespace weft {
namespace {

constexpr int64_t kWords = (int64_t{512} << 20) / 8, kBlock = 4096;

// Adds into independent sums, so that no addition waits for another.
uint64_t sum_of(const uint64_t* words) {
  uint64_t lanes[64] = {};
  for (int64_t i = 0; i < kBlock; i += 64) {
    for (int64_t j = 0; j < 64; ++j) lanes[j] += words[i + j];
  }
  uint64_t sum = 0;
  for (const uint64_t lane : lanes) sum += lane;
  return sum;
}

}  // namespace

double measure_read_bandwidth(int threads, int repeats) {
  const std::shared_ptr<Allocator> allocator = host_allocator();
  const MemoryBlock block = allocator->allocate(allocator->block_size(kWords * 8));
  require<MemoryError>(block.address != nullptr, "no memory for an array of {} bytes to read", kWords * 8);
  auto* words = reinterpret_cast<uint64_t*>(block.address);
  // Each thread reads what it has written first.
  parallel_for(threads, kWords / kBlock, 1, [&](int64_t begin, int64_t end) {
    std::fill(words + begin * kBlock, words + end * kBlock, uint64_t{3});
  });
  double best = 0;
  for (int i = 0; i <= repeats; ++i) {
    std::vector<uint64_t> sums(static_cast<size_t>(kWords / kBlock));
    const auto start = std::chrono::steady_clock::now();
    parallel_for(threads, kWords / kBlock, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) sums[b] = sum_of(words + b * kBlock);
    });
    const double seconds = seconds_since(start);
    uint64_t sum = 0;
    for (const uint64_t s : sums) sum += s;
    require<InternalError>(sum == kWords * 3, "the array was not read");
    if (i > 0) best = std::max(best, kWords * 8 / seconds);
  }
  allocator->release(block);
  return best;
}

}  // namespace weft
