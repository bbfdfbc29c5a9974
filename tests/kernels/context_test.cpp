// SPDX-License-Identifier: Apache-2.0
#include "kernels/context.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>
#include <type_traits>

#include "kernels/backend/dispatch.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/device/devices.h"
#include "kernels/ops/matmul.h"
#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

TEST(Memory, BlocksAreLentAgain) {
  Context context;
  const void* first = context.empty({1000}, DType::F32).raw();
  EXPECT_EQ(context.memory().use().lent, 0U);
  EXPECT_GE(context.memory().use().cached, 4000U);
  const Tensor again = context.empty({999}, DType::F32);
  EXPECT_EQ(again.raw(), first);
  EXPECT_EQ(context.memory().use().cached, 0U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(again.raw()) % 64, 0U);
}

TEST(Memory, ABlockServesRequestsDownToTwoThirds) {
  Context context;
  const void* first = context.empty({100'000}, DType::F32).raw();
  EXPECT_EQ(context.empty({80'000}, DType::F32).raw(), first);
  EXPECT_NE(context.empty({50'000}, DType::F32).raw(), first);
  EXPECT_EQ(context.memory().use().lent, 0U);
}

// Batches of text differ in shape from step to step: their memory must not add up, and the device must not be asked for
// memory in every step.
TEST(Memory, StepsOfRaggedShapesShareTheirBlocks) {
  Context context;
  const auto step = [&](int64_t rows) {
    std::vector<Tensor> live;
    for (int i = 0; i < 20; ++i) live.push_back(context.empty({rows, 128}, DType::F32));
  };
  for (int64_t i = 0; i < 300; ++i) step(2500 + i * 7919 % 1500);
  const size_t settled = context.memory().use().cached;
  EXPECT_LE(settled, 2U * 20 * 4000 * 128 * 4);
  for (int64_t i = 0; i < 300; ++i) step(2500 + i * 6007 % 1500);
  EXPECT_EQ(context.memory().use().cached, settled);
}

// A pool that gives back at once: each tensor is an allocation of its own size, which begins as NaN.
TEST(Memory, WithoutAPoolTensorsLieForThemselves) {
  Context context(1, std::make_unique<cpu::CpuBackend>(1), false, MemoryPool::GivesBack::AtOnce);
  {
    const Tensor one = context.empty({3}, DType::F32);
    EXPECT_EQ(context.memory().use().lent, 12U);
    for (const float value : one.span<float>()) EXPECT_TRUE(std::isnan(value));
    const Tensor none = context.empty({0}, DType::F32);
    EXPECT_EQ(context.memory().use().lent, 13U) << "an empty tensor has an address of its own";
  }
  EXPECT_EQ(context.memory().use().held(), 0U);
}

TEST(Memory, TheEnvironmentTurnsThePoolOff) {
  const auto asked = [](const char* word) {
    setenv("WEFT_MEMORY_POOL", word, 1);
    const MemoryPool::GivesBack answer = pooling_asked_for();
    unsetenv("WEFT_MEMORY_POOL");
    return answer;
  };
  EXPECT_EQ(pooling_asked_for(), MemoryPool::GivesBack::ForRoom);
  EXPECT_EQ(asked("on"), MemoryPool::GivesBack::ForRoom);
  EXPECT_EQ(asked("off"), MemoryPool::GivesBack::AtOnce);
  setenv("WEFT_MEMORY_POOL", "never", 1);
  EXPECT_EQ(error_of<ConfigError>([] { pooling_asked_for(); }), "WEFT_MEMORY_POOL=never: it is on or off");
  unsetenv("WEFT_MEMORY_POOL");
}

// Blocks kept for reuse count as held: no other process can use them.
TEST(Memory, PeakIsTheMostHeldAtOnce) {
  Context context;
  { const Tensor a = context.empty({4096}, DType::F32), b = context.empty({4096}, DType::F32); }
  EXPECT_EQ(context.memory().use().peak, 2U * 16384);
  const Tensor other = context.empty({100'000}, DType::F32);
  EXPECT_EQ(context.memory().use().peak, 2U * 16384 + context.memory().use().lent);
  context.memory().reset_peak();
  EXPECT_EQ(context.memory().use().peak, context.memory().use().held());
}

TEST(Memory, RoomIsWhatIsFreeAndWhatIsKept) {
  class Small : public Allocator {
   public:
    Device device() const override { return {DeviceKind::Meta}; }
    size_t block_size(size_t bytes) const override { return bytes; }
    MemoryBlock allocate(size_t size) override { return free_ -= size, MemoryBlock{.bytes = size}; }
    void release(const MemoryBlock& block) noexcept override { free_ += block.bytes; }
    size_t free_bytes() const override { return free_; }

   private:
    size_t free_ = 1000;
  };
  const auto pool = std::make_shared<MemoryPool>(std::make_shared<Small>());
  EXPECT_EQ(pool->room(), 1000u);
  auto first = pool->allocate(300);
  const auto second = pool->allocate(100);
  EXPECT_EQ(pool->room(), 600u);
  first.reset();
  EXPECT_EQ(pool->room(), 900u);
  EXPECT_EQ(std::make_shared<MemoryPool>(host_allocator())->room(), std::numeric_limits<size_t>::max());
}

TEST(Memory, TensorsMayBeReleasedByAnotherThread) {
  Context context;
  for (int i = 0; i < 50; ++i) {
    Tensor t = context.zeros({100}, DType::F32);
    std::thread other([moved = std::move(t)] { EXPECT_EQ(moved.data<float>()[99], 0); });
    const Tensor here = context.zeros({100}, DType::F32);
    other.join();
  }
  EXPECT_EQ(context.memory().use().lent, 0U);
}

TEST(Memory, TheDryDeviceCountsWithoutTaking) {
  Context dry(Device{DeviceKind::Meta});
  const int64_t terabyte = int64_t{1} << 40;
  {
    const Tensor t = dry.zeros({terabyte}, DType::F32);
    EXPECT_TRUE(t.meta());
    EXPECT_EQ(dry.memory().use().lent, 4U * terabyte);
    EXPECT_EQ(t.slice(5, 10).text(), "f32[5]");
  }
  EXPECT_EQ(dry.memory().use().lent, 0U);
}

// A plan holds the same blocks as a real device.
TEST(Memory, TheDryDeviceKeepsItsBlocksAsARealOneDoes) {
  Context dry(Device{DeviceKind::Meta}), real;
  const auto run = [](Context& context) {
    std::vector<Tensor> live;
    for (int64_t i = 0; i < 200; ++i) {
      live.push_back(context.empty({1000 + i * 7919 % 50000}, DType::F32));
      if (i % 3 == 2) live.erase(live.begin() + i % static_cast<int64_t>(live.size()));
    }
    return context.memory().use();
  };
  const MemoryUse planned = run(dry), used = run(real);
  EXPECT_EQ(planned.tensors, used.tensors);
  EXPECT_EQ(planned.lent, used.lent);
  EXPECT_EQ(planned.cached, used.cached);
  EXPECT_EQ(planned.peak, used.peak);
}

// A block may be larger than the request: held() counts the block.
TEST(Memory, HeldMemoryIsCountedInBlocks) {
  Context context;
  { const Tensor large = context.empty({30000}, DType::F32); }
  const size_t held = context.memory().use().held();
  const Tensor small = context.empty({24000}, DType::F32);
  const MemoryUse use = context.memory().use();
  EXPECT_EQ(use.tensors, 96000U);
  EXPECT_GE(use.lent, 120000U);
  EXPECT_EQ(use.held(), held);
}

// A sanitizer's allocator ends the process when the system's returns null.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Memory, MoreThanThereIsIsAnError) {
  Context context;
  try {
    context.empty({int64_t{1} << 52}, DType::F32);
    ADD_FAILURE() << "no error";
  } catch (const MemoryError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("out of memory: 18014398509481984 bytes requested"), std::string::npos) << text;
  }
  EXPECT_EQ(context.memory().use().lent, 0U);
}
#endif

TEST(HostOnly, ACudaDeviceThatIsNotThereIsNamed) {
  const CudaDevices devices = cuda_devices();
  const int beyond = static_cast<int>(devices.names.size());
  const std::string error = test::error_of([&] { Context cuda(Device{DeviceKind::Cuda, beyond}); });
  const std::string expected = devices.built
                                   ? fmt::format("CUDA device {0} is requested, but this process sees {0}", beyond)
                                   : "this build has no CUDA device";
  EXPECT_EQ(error.substr(0, expected.size()), expected);
}

TEST(Contexts, EveryOperationIsASignOfLife) {
  Context context;
  const Tensor a = test::random(context, {8, 8}, DType::F32, 1), c = context.empty({8, 8}, DType::F32);
  int signs = 0;
  context.on_progress([&] { ++signs; });
  matmul(context, {.a = a, .b = a, .c = c});
  matmul(context, {.a = a, .b = a, .c = c, .mode = Accumulate::Add});
  EXPECT_EQ(signs, 2);
}

TEST(Ledger, CountsOperations) {
  Context context;
  const Tensor a = test::random(context, {8, 8}, DType::F32, 1), c = context.empty({8, 8}, DType::F32);
  context.ledger().clear();
  matmul(context, {.a = a, .b = a, .c = c});
  matmul(context, {.a = a, .b = a, .c = c, .mode = Accumulate::Add});
  const Ledger::Entry& entry = context.ledger().entries().at("matmul");
  EXPECT_EQ(entry.calls, 2);
  EXPECT_EQ(entry.flops, 2 * 2.0 * 512);
  EXPECT_EQ(entry.bytes, 256.0 * (3 + 4));
  EXPECT_EQ(entry.seconds, 0);
  context.time_operations(true);
  matmul(context, {.a = a, .b = a, .c = c});
  EXPECT_GT(context.ledger().total().seconds, 0);
}

// A cost without one of its parts does not compile.
static_assert(std::is_constructible_v<Cost, const char*, OperationKind, double, double>);
static_assert(!std::is_constructible_v<Cost, const char*, double, double>);
static_assert(!std::is_constructible_v<Cost, const char*, OperationKind, double>);
static_assert(!std::is_constructible_v<Cost, const char*>);
static_assert(!std::is_default_constructible_v<Ledger::Entry>);

TEST(Ledger, AnOperationIsOfOneKind) {
  Context context;
  const Tensor a = test::random(context, {8, 8}, DType::F32, 1), c = context.empty({8, 8}, DType::F32);
  context.ledger().clear();
  matmul(context, {.a = a, .b = a, .c = c});
  const auto& entries = context.ledger().entries();
  EXPECT_EQ(entries.at("matmul").kind, OperationKind::Product);
  EXPECT_THROW(context.ledger().record("matmul", OperationKind::Memory, {.calls = 1}), InternalError);
  Ledger sum;
  sum.add(context.ledger()), sum.add(context.ledger());
  EXPECT_EQ(sum.entries().at("matmul").kind, OperationKind::Product);
  EXPECT_EQ(sum.entries().at("matmul").calls, 2);
}

}  // namespace
}  // namespace weft
