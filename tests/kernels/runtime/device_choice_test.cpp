// SPDX-License-Identifier: Apache-2.0
// Calls for one device from a thread whose current device is another one. CUDA's runtime refuses a launch there; any
// other call makes a context on the current device, hundreds of megabytes that belong to another rank. So each of
// weft's calls makes its own device the current one.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/context.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/device/operation_graph.h"
#include "kernels/device/queue.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/matmul.h"
#include "kernels/transfer.h"
#include "tests/support/cuda_devices.h"

namespace weft {
namespace {

constexpr int64_t kElements = 256;

class CudaDeviceChoice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string lacks = test::lacks_devices(2); !lacks.empty()) GTEST_SKIP() << lacks;
    context = std::make_unique<Context>(Device{DeviceKind::Cuda, 1});
    tensor = context->zeros({kElements}, DType::F32);
  }
  // The device that is current after the call, in a thread where it was device 0.
  static int after(const std::function<void()>& call) {
    int device = -1;
    std::thread([&] {
      EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
      call();
      EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    }).join();
    return device;
  }

  std::unique_ptr<Context> context;
  Tensor tensor;
  std::vector<float> values = std::vector<float>(kElements, 2);
};

TEST_F(CudaDeviceChoice, CopiesAreOfTheirOwn) {
  EXPECT_EQ(after([&] { upload(*context, std::span<const float>(values), tensor); }), 1);
  EXPECT_EQ(after([&] { download(*context, tensor, std::span(values)); }), 1);
  UploadAhead ahead(*context, {kElements}, DType::F32);
  EXPECT_EQ(after([&] { ahead.send(std::as_bytes(std::span(values))); }), 1);
  EXPECT_EQ(after([&] { ahead.arrive(); }), 1);
}

TEST_F(CudaDeviceChoice, SnapshotsAreOfTheirOwn) {
  const auto memory = snapshot_memory(*context);
  MemoryBlock block;
  EXPECT_EQ(after([&] { block = memory->allocate(kElements * sizeof(float)); }), 1);
  const std::span to(block.address, kElements * sizeof(float));
  std::unique_ptr<Snapshot> snapshot;
  EXPECT_EQ(after([&] { snapshot = std::make_unique<Snapshot>(*context, std::span(&tensor, 1), std::span(&to, 1)); }),
            1);
  EXPECT_EQ(after([&] { snapshot->wait(); }), 1);
  EXPECT_EQ(after([&] { await_snapshots(*context); }), 1);
  snapshot.reset();
  memory->release(block);
}

TEST_F(CudaDeviceChoice, OperationsAreOfTheirOwn) {
  const Tensor other = context->zeros({kElements}, DType::F32), square = context->zeros({16, 16}, DType::F32);
  const Tensor product = context->empty({16, 16}, DType::F32);
  EXPECT_EQ(after([&] { fill(*context, tensor, 1); }), 1);
  EXPECT_EQ(after([&] { convert(*context, tensor, other); }), 1);
  EXPECT_EQ(after([&] { matmul(*context, {.a = square, .b = square, .c = product}); }), 1);
}

TEST_F(CudaDeviceChoice, MemoryIsOfTheirOwn) {
  Tensor large;  // more than the pool has
  EXPECT_EQ(after([&] { large = context->empty({1 << 22}, DType::F32); }), 1);
  EXPECT_EQ(after([&] { context->memory().room(); }), 1);
}

TEST_F(CudaDeviceChoice, QueuesAndGraphsAreOfTheirOwn) {
  std::unique_ptr<DeviceQueue> queue;
  EXPECT_EQ(after([&] { queue = make_device_queue(*context); }), 1);
  EXPECT_EQ(after([&] { queue->handle(); }), 1);
  EXPECT_EQ(after([&] { queue->follow_operations(); }), 1);
  EXPECT_EQ(after([&] { queue->count_up(); }), 1);
  std::unique_ptr<DeviceQueue::Mark> mark;
  EXPECT_EQ(after([&] { mark = queue->mark(); }), 1);
  EXPECT_EQ(after([&] { queue->hold_operations_until(*mark); }), 1);
  std::unique_ptr<OperationGraph> graph;
  EXPECT_EQ(after([&] { graph = std::make_unique<OperationGraph>(*context, [&] { fill(*context, tensor, 3); }); }), 1);
  EXPECT_EQ(after([&] { graph->launch(); }), 1);
  // No operation of this one makes its device the current one.
  EXPECT_EQ(after([&] { graph = std::make_unique<OperationGraph>(*context, [] {}); }), 1);
}

}  // namespace
}  // namespace weft
