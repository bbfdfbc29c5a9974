// SPDX-License-Identifier: Apache-2.0
// Random programs of copies and memsets on several streams. The test derives from streams and events which accesses
// are not ordered; these must be reported in whatever order they ran, and no others may be. If there are no races,
// the bytes are those of running one operation after another.
#include <gmock/gmock.h>

#include <bitset>
#include <random>

#include "tests/simulator/libraries/fixture/device_test.h"

namespace weft::cuda_device {
namespace {

constexpr int kStreams = 3, kBuffers = 4, kBytes = 16, kOperations = 24;

struct Step {
  int stream, to;
  int from;                // -1: a memset to the step's number
  std::vector<int> waits;  // the earlier steps that this step waits for
};
bool conflict(const Step& a, const Step& b) { return a.to == b.to || a.to == b.from || a.from == b.to; }

using Before = std::vector<std::bitset<kOperations>>;  // by step: the steps that come before it
Before order_of(const std::vector<Step>& steps) {
  Before before(steps.size());
  for (size_t k = 0; k < steps.size(); ++k) {
    const auto come_after = [&](size_t earlier) { before[k] |= before[earlier], before[k].set(earlier); };
    for (size_t earlier = 0; earlier < k; ++earlier)
      if (steps[earlier].stream == steps[k].stream) come_after(earlier);
    for (const int earlier : steps[k].waits) come_after(static_cast<size_t>(earlier));
  }
  return before;
}
bool has_race(const std::vector<Step>& steps) {
  const Before before = order_of(steps);
  for (size_t k = 0; k < steps.size(); ++k)
    for (size_t earlier = 0; earlier < k; ++earlier)
      if (conflict(steps[k], steps[earlier]) && !before[k][earlier]) return true;
  return false;
}

// A program with the waits that it needs beyond those of earlier steps; with lose_one, one of them is removed.
std::vector<Step> draw(std::mt19937& random, bool lose_one) {
  std::vector<Step> steps;
  for (int k = 0; k < kOperations; ++k) {
    const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    steps.push_back({any(kStreams), any(kBuffers), any(3) == 0 ? -1 : any(kBuffers), {}});
    Step& step = steps.back();
    if (step.from == step.to) step.from = -1;
    for (int earlier = k - 1; earlier >= 0; --earlier)
      if (conflict(step, steps[static_cast<size_t>(earlier)]) && !order_of(steps).back()[static_cast<size_t>(earlier)])
        step.waits.push_back(earlier);
  }
  for (int tries = 0; lose_one && tries < 100; ++tries) {
    Step& step = steps[random() % steps.size()];
    if (step.waits.empty()) continue;
    step.waits.erase(step.waits.begin() + static_cast<std::ptrdiff_t>(random() % step.waits.size()));
    break;
  }
  return steps;
}

class Races : public DeviceTest {
 protected:
  void TearDown() override {}

  std::string run(const std::vector<Step>& steps) {
    std::vector<cudaStream_t> streams;
    std::vector<char*> buffers(kBuffers);
    std::vector<cudaEvent_t> done;
    for (int k = 0; k < kStreams; ++k) streams.push_back(new_stream());
    for (char*& buffer : buffers) {
      ok(cudaMalloc(reinterpret_cast<void**>(&buffer), kBytes));
      ok(cudaMemset(buffer, 77, kBytes));
    }
    for (size_t k = 0; k < steps.size(); ++k) {
      const Step& step = steps[k];
      const cudaStream_t stream = streams[static_cast<size_t>(step.stream)];
      char* to = buffers[static_cast<size_t>(step.to)];
      for (const int earlier : step.waits) ok(cudaStreamWaitEvent(stream, done[static_cast<size_t>(earlier)], 0));
      if (step.from < 0)
        ok(cudaMemsetAsync(to, static_cast<int>(k), kBytes, stream));
      else
        ok(cudaMemcpyAsync(to, buffers[static_cast<size_t>(step.from)], kBytes, cudaMemcpyDeviceToDevice, stream));
      done.push_back(new_event());
      ok(cudaEventRecord(done.back(), stream));
    }
    ok(cudaDeviceSynchronize());
    held.clear();
    for (char* buffer : buffers) {
      char byte = 0;
      ok(cudaMemcpy(&byte, buffer, 1, cudaMemcpyDeviceToHost));
      held.push_back(byte);
      ok(cudaFree(buffer));
    }
    for (const cudaEvent_t event : done) ok(cudaEventDestroy(event));
    for (const cudaStream_t stream : streams) ok(cudaStreamDestroy(stream));
    return reported();
  }
  static std::vector<int> one_after_the_other(const std::vector<Step>& steps) {
    std::vector<int> bytes(kBuffers, 77);
    for (size_t k = 0; k < steps.size(); ++k) {
      const Step& step = steps[k];
      bytes[static_cast<size_t>(step.to)] = step.from < 0 ? static_cast<int>(k) : bytes[static_cast<size_t>(step.from)];
    }
    return bytes;
  }
  std::vector<int> held;
};

TEST_F(Races, OrderedAccessesGiveNoReportAndTheRightBytes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<Step> steps = draw(random, false);
    ASSERT_FALSE(has_race(steps));
    ASSERT_EQ(run(steps), "") << trial;
    ASSERT_EQ(held, one_after_the_other(steps)) << trial;
  }
}

TEST_F(Races, AMissingWaitIsReportedInAnyOrderOfExecution) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<Step> steps = draw(random, true);
    ASSERT_TRUE(has_race(steps));  // every wait is needed
    ASSERT_THAT(run(steps), testing::HasSubstr("race: ")) << trial;
  }
}

}  // namespace
}  // namespace weft::cuda_device
