// SPDX-License-Identifier: Apache-2.0
// Graphs of operations on a CUDA device: the values that a graph keeps, and those that each launch reads.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "kernels/device/operation_graph.h"
#include "kernels/device/stopwatch.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/exact/fixed_point.h"
#include "kernels/ops/optimizer.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

constexpr int64_t kElements = 3000;

class CudaGraphs : public testing::Test {
 protected:
  Tensor filled(double value) {
    const Tensor t = cuda.empty({kElements}, DType::F32);
    fill(cuda, t, value);
    return t;
  }
  // The value of all elements, which must be equal.
  float value_of(const Tensor& t) {
    std::vector<float> values(kElements);
    download(cuda, t, std::span(values));
    EXPECT_EQ(values, std::vector<float>(kElements, values[0]));
    return values[0];
  }

  Context cuda{Device{DeviceKind::Cuda}};
};

TEST_F(CudaGraphs, RunAtEachLaunchOnTheValuesOfThatTime) {
  const Tensor x = filled(1), sums = filled(0);
  const OperationGraph graph(cuda, [&] { add_scaled(cuda, x, 2, sums); });
  EXPECT_EQ(value_of(sums), 0);
  graph.launch();
  fill(cuda, x, 10);
  graph.launch();
  graph.launch();
  EXPECT_EQ(value_of(sums), 2 + 20 + 20);
}

TEST_F(CudaGraphs, ALaunchIsASignOfLife) {
  const Tensor x = filled(1);
  const OperationGraph graph(cuda, [&] { fill(cuda, x, 2); });
  int signs = 0;
  cuda.on_progress([&] { ++signs; });
  graph.launch();
  EXPECT_EQ(signs, 1);
}

// An interval of a graph is measured by each launch, beside those that were queued operation by operation.
TEST_F(CudaGraphs, IntervalsAreTimedAtEachLaunch) {
  const Tensor x = filled(1), sums = filled(0);
  const auto watch = make_device_stopwatch(cuda);
  const auto timed = [&] {
    watch->start();
    for (int i = 0; i < 3; ++i) add_scaled(cuda, x, 2, sums);
    watch->stop();
  };
  const OperationGraph graph(cuda, timed);
  cuda.finish();
  EXPECT_EQ(watch->take(), 0);
  graph.launch();
  cuda.finish();
  const double once = watch->take();
  EXPECT_GT(once, 0);
  timed();
  graph.launch();
  cuda.finish();
  EXPECT_GT(watch->take(), 1.5 * once);
  EXPECT_EQ(watch->take(), 0);
}

// A graph works in the memory that it had when it was captured, whatever tensors have come and gone since.
TEST_F(CudaGraphs, KeepTheMemoryOfTheirTensors) {
  const Tensor out = filled(0);
  const OperationGraph graph(cuda, [&] {
    const Tensor inner = filled(5);
    add_scaled(cuda, inner, 1, out);
  });
  std::vector<Tensor> others;
  for (int i = 0; i < 4; ++i) others.push_back(filled(i));
  graph.launch();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(value_of(others[static_cast<size_t>(i)]), i);
  EXPECT_EQ(value_of(out), 5);
}

// The pool of graphs does not release a block that is slightly smaller than the next request.
TEST_F(CudaGraphs, KeepAllMemoryDuringCapture) {
  const Tensor small = filled(0), large = cuda.zeros({kElements * 5 / 4}, DType::F32);
  const OperationGraph graph(cuda, [&] {
    add_scaled(cuda, filled(3), 1, small);
    const Tensor ones = cuda.empty(large.shape(), DType::F32);
    fill(cuda, ones, 1);
    add_scaled(cuda, ones, 1, large);
  });
  const Tensor other = filled(8);
  graph.launch();
  EXPECT_EQ(value_of(small), 3);
  EXPECT_EQ(value_of(other), 8);
}

TEST_F(CudaGraphs, ReleaseTheirMemoryWithTheLastGraph) {
  const Tensor out = filled(0);
  const size_t before = cuda.memory().use().lent;
  const auto make = [&] {
    return std::make_unique<OperationGraph>(cuda, [&] { add_scaled(cuda, filled(1), 1, out); });
  };
  auto first = make();
  const size_t one = cuda.memory().use().lent;
  EXPECT_GT(one, before);
  auto second = make();
  EXPECT_EQ(cuda.memory().use().lent, one) << "graphs share the memory";
  first->launch(), second->launch();
  first = nullptr;
  second->launch();
  EXPECT_EQ(value_of(out), 3);
  second = nullptr;
  EXPECT_EQ(cuda.memory().use().lent, before);
}

// A graph's update reads the step's values at each launch, not at the capture.
TEST_F(CudaGraphs, AnUpdateReadsTheStepFromItsMirror) {
  const SharedUpdateSpans spans = share_update_spans(cuda, {0}, {0.0}, {1.0});
  const Tensor parameter = filled(1), gradient = filled(1), buffer = filled(0);
  const StepMirror mirror(cuda);
  const OperationGraph graph(cuda, [&] {
    sgd_update(cuda, {.parameter = parameter,
                      .gradient = gradient,
                      .buffer = buffer,
                      .spans = spans,
                      .momentum = 0,
                      .step = mirror.read()});
  });
  const auto launched_with = [&](const StepState& state) {
    mirror.write(state);
    graph.launch();
    return value_of(parameter);
  };
  EXPECT_EQ(launched_with({.learning_rate = 0.5}), 0.5f);
  EXPECT_EQ(launched_with({.learning_rate = 0.5, .skip = true}), 0.5f);
  EXPECT_EQ(launched_with({.learning_rate = 0.25}), 0.25f);
  EXPECT_EQ(launched_with({.learning_rate = 0.25, .clip = 0.5}), 0.125f);
}

TEST_F(CudaGraphs, AFixedPointHasTheExponentOfItsLaunch) {
  const Tensor x = filled(3), exponent = cuda.zeros({1}, DType::I32), high = cuda.empty({kElements}, DType::I64),
               facts = cuda.zeros({kFixedPointFacts}, DType::I64), out = cuda.empty({kElements}, DType::F32);
  const OperationGraph graph(cuda, [&] {
    to_fixed_point(cuda, {.x = x, .exponent = exponent, .high = high, .facts = facts});
    from_fixed_point(cuda, {.high = high, .exponent = exponent, .out = out, .facts = facts});
  });
  const auto launched_with = [&](double value) {
    fill(cuda, exponent, value);
    graph.launch();
    return value_of(out);
  };
  EXPECT_EQ(launched_with(0), 3);
  EXPECT_EQ(launched_with(-1), 4) << "1.5 units of 2, to even";
  EXPECT_EQ(launched_with(20), 3);
}

TEST_F(CudaGraphs, CountWhatTheyCostAtEachLaunch) {
  const Tensor x = filled(1);
  cuda.ledger().clear();
  const OperationGraph graph(cuda, [&] { add_scaled(cuda, x, 1, x); });
  EXPECT_EQ(cuda.ledger().total().calls, 0);
  for (int i = 0; i < 3; ++i) graph.launch();
  EXPECT_EQ(cuda.ledger().total().calls, 3);
  EXPECT_EQ(cuda.ledger().total().flops, 3.0 * 2 * kElements);
}

// An operation that cannot be captured ends the capture; the device still works.
TEST_F(CudaGraphs, AnErrorWithinLeavesTheContextAsItWas) {
  const Tensor x = filled(3);
  const size_t lent = cuda.memory().use().lent;
  EXPECT_THROW(OperationGraph(cuda,
                              [&] {
                                filled(4);
                                throw std::runtime_error("within");
                              }),
               std::runtime_error);
  EXPECT_THROW(OperationGraph(cuda, [&] { value_of(x); }), InternalError);
  EXPECT_EQ(cuda.memory().use().lent, lent);
  EXPECT_EQ(value_of(x), 3);
}

TEST(Graphs, OnlyCudaDevicesHaveGraphs) {
  Context cpu, cuda(Device{DeviceKind::Cuda}), dry(Device{DeviceKind::Meta});
  EXPECT_TRUE(has_graphs(cuda));
  EXPECT_FALSE(has_graphs(cpu));
  EXPECT_FALSE(has_graphs(dry));
  EXPECT_THROW(OperationGraph(cpu, [] {}), InternalError);
}

}  // namespace
}  // namespace weft
