// SPDX-License-Identifier: Apache-2.0
// The order of copies beside a CUDA device's operations. No test waits for the device in between, so work without an
// explicit order may run in any.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

constexpr int64_t kElements = 3000;

class CudaCopies : public testing::Test {
 protected:
  static std::vector<float> numbers(float first) {
    std::vector<float> values(kElements);
    for (int64_t i = 0; i < kElements; ++i) values[i] = first + static_cast<float>(i);
    return values;
  }
  Tensor on_device(const std::vector<float>& values) { return to_device(cuda, std::span<const float>(values)); }
  std::vector<float> on_host(const Tensor& tensor) {
    std::vector<float> values(kElements);
    download(cuda, tensor, std::span(values));
    return values;
  }
  static void send(UploadAhead& upload, const std::vector<float>& values) {
    upload.send(std::as_bytes(std::span(values)));
  }
  // The memory of a tensor that queued work still reads, though no reference to it is left.
  const void* place_in_use() {
    const Tensor read = on_device(numbers(0));
    fill(cuda, sums, 0);
    add_scaled(cuda, read, 2, sums);
    return read.place();
  }

  Context cuda{Device{DeviceKind::Cuda}};
  Tensor sums = cuda.zeros({kElements}, DType::F32);
};

std::vector<float> times_two(std::vector<float> values) {
  for (float& x : values) x *= 2;
  return values;
}

TEST_F(CudaCopies, UploadsArriveBeforeLaterWorkOfTheQueue) {
  UploadAhead upload(cuda, {kElements}, DType::F32);
  fill(cuda, sums, 0);
  send(upload, numbers(5));
  upload.arrive();
  add_scaled(cuda, upload.tensor(), 2, sums);
  EXPECT_EQ(on_host(sums), times_two(numbers(5)));
}

TEST_F(CudaCopies, MemoryStillBeingReadIsWrittenAfterwards) {
  const void* place = place_in_use();
  UploadAhead upload(cuda, {kElements}, DType::F32);
  ASSERT_EQ(upload.tensor().place(), place);
  send(upload, numbers(70));
  EXPECT_EQ(on_host(sums), times_two(numbers(0)));
  upload.arrive();
  EXPECT_EQ(on_host(upload.tensor()), numbers(70));
}

TEST_F(CudaCopies, AnUnawaitedCopyReleasesItsMemoryInOrder) {
  const void* place = nullptr;
  {
    UploadAhead dropped(cuda, {kElements}, DType::F32);
    place = dropped.tensor().place();
    send(dropped, numbers(1));
  }
  const Tensor next = cuda.empty({kElements}, DType::F32);
  ASSERT_EQ(next.place(), place);
  fill(cuda, next, 3);
  EXPECT_EQ(on_host(next), std::vector<float>(kElements, 3));
}

// Copies larger than one piece of pinned memory, and larger than all pieces.
TEST_F(CudaCopies, ALongUploadGoesInPieces) {
  std::vector<int32_t> values(5 << 20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7);
  UploadAhead upload(cuda, {static_cast<int64_t>(values.size())}, DType::I32);
  upload.send(std::as_bytes(std::span(values)));
  upload.arrive();
  std::vector<int32_t> found(values.size());
  download(cuda, upload.tensor(), std::span(found));
  EXPECT_EQ(found, values);
}

class CudaSnapshot : public CudaCopies {
 protected:
  std::unique_ptr<Snapshot> copy(const std::vector<Tensor>& from) {
    copies.clear();
    std::vector<std::span<std::byte>> to;
    for (const Tensor& tensor : from) {
      copies.emplace_back(pool->allocate(tensor.bytes()), 0, tensor.shape(), tensor.dtype());
      to.emplace_back(copies.back().raw(), tensor.bytes());
    }
    return std::make_unique<Snapshot>(cuda, from, to);
  }
  std::vector<float> copied(size_t index) const {
    const std::span<float> values = copies.at(index).span<float>();
    return {values.begin(), values.end()};
  }

  std::shared_ptr<MemoryPool> pool = std::make_shared<MemoryPool>(snapshot_memory(cuda));
  std::vector<Tensor> copies;
};

TEST_F(CudaSnapshot, HoldsTheValuesFromBeforeTheNextWrite) {
  const Tensor a = on_device(numbers(1)), b = on_device(numbers(200));
  add_scaled(cuda, a, 1, b);  // queued before the copy: the copy has its result
  const auto snapshot = copy({a, b});
  await_snapshots(cuda);
  fill(cuda, a, 0);
  fill(cuda, b, 0);
  snapshot->wait();
  EXPECT_EQ(copied(0), numbers(1));
  std::vector<float> sums_of_both = numbers(200);
  for (int64_t i = 0; i < kElements; ++i) sums_of_both[i] += 1 + static_cast<float>(i);
  EXPECT_EQ(copied(1), sums_of_both);
  EXPECT_EQ(cuda.ledger().entries().at("snapshot_copy").calls, 2);
  EXPECT_EQ(cuda.ledger().entries().contains("download"), false);
}

// Work that only reads the tensors runs beside a snapshot and does not wait for it.
TEST_F(CudaSnapshot, IsReadWhileOtherWorkRuns) {
  const Tensor a = on_device(numbers(1));
  const auto snapshot = copy({a});
  add_scaled(cuda, a, 2, sums);
  EXPECT_EQ(on_host(sums), times_two(numbers(1)));
  snapshot->wait();
  EXPECT_EQ(copied(0), numbers(1));
}

TEST_F(CudaSnapshot, AnUnreadSnapshotReleasesItsMemory) {
  const Tensor a = on_device(numbers(1));
  copy({a});
  std::ranges::fill(copies.front().span<float>(), 8.0f);
  EXPECT_EQ(copied(0), std::vector<float>(kElements, 8));
}

TEST_F(CudaSnapshot, TheMemoryOfOneSaveServesTheNext) {
  const Tensor a = on_device(numbers(1));
  copy({a})->wait();
  const std::byte* first = copies.front().raw();
  copy({a})->wait();
  EXPECT_EQ(copies.front().raw(), first);
}

}  // namespace
}  // namespace weft
