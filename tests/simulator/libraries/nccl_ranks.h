// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/simulator/libraries/device_test.h"

namespace weft::cuda_device {

using Floats = std::vector<float>;

constexpr int kRanks = 3;

// Three devices, and a thread of the host for each. Each case is a process, since settings are read once.
struct Rank {
  int number;
  ncclComm_t one = nullptr, two = nullptr;  // two communicators of the same ranks
  cudaStream_t first = nullptr, second = nullptr;
};
inline void on_three_ranks(const std::function<void(Rank&)>& body, const char* patience = "60") {
  setenv("WEFT_CUDA_DEVICE_COUNT", "3", 1);
  setenv("WEFT_CUDA_DEVICE_PATIENCE", patience, 1);
  simulator().reports.set_policy(Reports::Policy::Collect);
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int number = 0; number < kRanks; ++number)
    threads.emplace_back([&, number] {
      Rank rank{number};
      ok(cudaSetDevice(number));
      EXPECT_EQ(ncclCommInitRank(&rank.one, kRanks, ids[0], number), ncclSuccess);
      EXPECT_EQ(ncclCommInitRank(&rank.two, kRanks, ids[1], number), ncclSuccess);
      rank.first = new_stream(), rank.second = new_stream();
      body(rank);
    });
  for (std::thread& thread : threads) thread.join();
}
inline std::string reported() {
  std::string text;
  for (const Report& report : simulator().reports.all()) text += report.sentence + "\n";
  return text;
}

// The case of a test, in a process that must end well and say nothing.
#define IN_A_PROCESS(...)                               \
  testing::GTEST_FLAG(death_test_style) = "threadsafe"; \
  EXPECT_EXIT(                                          \
      {                                                 \
        __VA_ARGS__;                                    \
        _exit(testing::Test::HasFailure());             \
      },                                                \
      testing::ExitedWithCode(0), "")

inline void done(const Rank& rank) {
  ok(cudaStreamSynchronize(rank.first));
  ok(cudaStreamSynchronize(rank.second));
}

// Two elements from each rank to each, of which `each` are sent.
inline void exchange(const Rank& rank, const float* from, float* to, cudaStream_t stream, size_t each = 2) {
  ncclGroupStart();
  for (int peer = 0; peer < kRanks; ++peer) {
    const size_t at = static_cast<size_t>(peer) * 2;
    EXPECT_EQ(ncclSend(from + at, each, ncclFloat32, peer, rank.one, stream), ncclSuccess);
    EXPECT_EQ(ncclRecv(to + at, each, ncclFloat32, peer, rank.one, stream), ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
}
inline Floats to_each(int rank) {
  const float r = 10 * static_cast<float>(rank);
  return {r, -r, r + 1, -r - 1, r + 2, -r - 2};
}
inline Floats from_each(int rank) {
  const float r = static_cast<float>(rank);
  return {r, -r, r + 10, -r - 10, r + 20, -r - 20};
}

// Rank 2 calls in the other order: on streams of its own each call could run, but a device may wait within the first.
inline void two_in_different_order(Rank& rank, bool grouped) {
  const auto *x = new OnDevice<float>(Floats(3, 1)), *y = new OnDevice<float>(Floats(3, 2));  // freeing would wait
  if (grouped) ncclGroupStart();
  for (const int turn : {0, 1}) {
    if ((turn == 0) == (rank.number == 2))
      ncclAllReduce(x->p, x->p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
    else
      ncclAllReduce(y->p, y->p, 3, ncclFloat32, ncclSum, rank.two, rank.second);
  }
  if (grouped) ncclGroupEnd();
  cudaStreamSynchronize(rank.first);
}

}  // namespace weft::cuda_device
