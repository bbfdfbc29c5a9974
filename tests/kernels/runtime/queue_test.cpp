// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/queue.h"

#include <gtest/gtest.h>

#include "kernels/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/types.h"

namespace weft {
namespace {

// Blocks of a collective go before those of a product that wait for a multiprocessor.
TEST(CudaQueues, CollectivesHaveTheHighestPriority) {
  Context context(Device{DeviceKind::Cuda});
  int usual = 1, high = 1, operations = 1, collectives = 1;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&usual, &high), cudaSuccess);
  ASSERT_LT(high, usual);
  const auto& backend = dynamic_cast<cuda::CudaBackend&>(context.backend());
  ASSERT_EQ(cudaStreamGetPriority(backend.stream().get(), &operations), cudaSuccess);
  const auto queue = make_device_queue(context);
  ASSERT_EQ(cudaStreamGetPriority(static_cast<cudaStream_t>(queue->handle()), &collectives), cudaSuccess);
  EXPECT_EQ(operations, usual);
  EXPECT_EQ(collectives, high);
}

}  // namespace
}  // namespace weft
