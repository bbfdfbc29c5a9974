// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/dropout.h"

#include "kernels/ops/linear.h"
#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

struct Source {
  OperationContext context;
  StepState state;
  Dropout dropout;
  explicit Source(double probability, uint64_t key = 0x0123456789abcdefu) {
    state.dropout_key = key;
    dropout = {.probability = probability,
               .dropout_id = 0x9e3779b97f4a7c15u,
               .step = state,
               .rows = {integers(context, {7, -1, 7}), integers(context, {0, 1000, 3})}};
  }
  std::vector<float> row(int64_t row, int64_t begin, int64_t n, uint32_t head = 0) const {
    std::vector<float> out(static_cast<size_t>(n));
    cpu::DropoutMask(dropout).multipliers(row, begin, n, out.data(), head);
    return out;
  }
};

// The definition in kernels/step_state.h, one element at a time.
float defined(const Dropout& d, int64_t row, int64_t channel, uint32_t head) {
  const int64_t global = d.first_channel + channel;
  const Philox::Counter words = Philox(d.step.dropout_key ^ d.dropout_id)(
      {static_cast<uint32_t>(global / 8), static_cast<uint32_t>(d.rows.position.data<int32_t>()[row]),
       static_cast<uint32_t>(d.rows.sequence.data<int32_t>()[row]), head});
  const std::array<uint32_t, 8> lanes{words[0] & 0xffff, words[0] >> 16, words[1] & 0xffff, words[1] >> 16,
                                      words[2] & 0xffff, words[2] >> 16, words[3] & 0xffff, words[3] >> 16};
  return lanes[static_cast<size_t>(global % 8)] < d.threshold() ? 0.0f : static_cast<float>(d.scale());
}

TEST(DropoutMask, FollowsTheDefinition) {
  Source s(0.37);
  for (const int64_t first_channel : {0, 5, 8, 123, 1'000'000}) {
    s.dropout.first_channel = first_channel;
    for (int64_t row = 0; row < 3; ++row) {
      for (const uint32_t head : {0u, 11u, 65535u}) {
        const std::vector<float> mask = s.row(row, 0, 300, head);
        for (int64_t c = 0; c < 300; ++c) ASSERT_EQ(mask[c], defined(s.dropout, row, c, head)) << c;
      }
    }
  }
}

// A tensor-parallel shard begins at any channel of the model.
TEST(Dropouts, OperationsFollowTheDefinitionFromAnyChannelOn) {
  Source s(0.37);
  for (const int64_t first_channel : {0, 1, 2, 3, 4, 5, 6, 7, 8, 123, 1'000'000}) {
    s.dropout.first_channel = first_channel;
    for (const auto& [columns, dtype] : {std::pair{64, DType::F32}, {37, DType::F32}, {64, DType::BF16}}) {
      const Tensor x = constant(s.context, {3, columns}, dtype, 1), y = s.context.empty(x.shape(), dtype);
      activate(s.context, {.pre = x, .dropout = s.dropout, .y = y});
      const std::vector<double> kept = values(y);
      const double scale = values(constant(s.context, {1}, dtype, s.dropout.scale()))[0];
      for (int64_t row = 0; row < 3; ++row) {
        for (int64_t c = 0; c < columns; ++c) {
          ASSERT_EQ(kept[row * columns + c], defined(s.dropout, row, c, 0) > 0 ? scale : 0)
              << first_channel << " + " << c;
        }
      }
    }
  }
}

TEST(DropoutMask, SlicesReassemble) {
  Source s(0.5);
  const std::vector<float> whole = s.row(1, 0, 400);
  for (const int64_t cut : {1, 7, 8, 127, 128, 129, 255, 399}) {
    std::vector<float> parts = s.row(1, 0, cut);
    const std::vector<float> by_begin = s.row(1, cut, 400 - cut);
    s.dropout.first_channel = cut;  // the beginning of a tensor-parallel shard
    EXPECT_EQ(s.row(1, 0, 400 - cut), by_begin);
    s.dropout.first_channel = 0;
    parts.insert(parts.end(), by_begin.begin(), by_begin.end());
    EXPECT_EQ(parts, whole) << cut;
  }
}

TEST(DropoutMask, KeepsTheExpectedShareAndScalesByItsInverse) {
  for (const double p : {0.05, 0.1, 0.5, 0.9}) {
    const Source s(p);
    const int64_t n = 1 << 18;
    const std::vector<float> mask = s.row(0, 0, n);
    int64_t kept = 0;
    for (const float m : mask) {
      kept += m != 0;
      ASSERT_TRUE(m == 0 || m == static_cast<float>(s.dropout.scale()));
    }
    // Four standard deviations, and half a step of the rounded probability.
    const double allowed = 4 * std::sqrt(p * (1 - p) / static_cast<double>(n)) + 1.0 / 131072;
    EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(n), 1 - p, allowed);
    EXPECT_NEAR(s.dropout.scale() * (1 - p), 1, 1e-4);
  }
}

TEST(DropoutMask, DependsOnEachIdAndNothingElse) {
  const Source s(0.5);
  const std::vector<float> mask = s.row(0, 0, 256);
  Source moved(0.5);  // the same ids in another row
  moved.dropout.rows = {integers(moved.context, {1, 2, 7, 3}), integers(moved.context, {9, 9, 0, 9})};
  EXPECT_EQ(moved.row(2, 0, 256), mask);
  EXPECT_NE(moved.row(1, 0, 256), mask);
  EXPECT_NE(s.row(2, 0, 256), mask) << "position";
  EXPECT_NE(s.row(1, 0, 256), mask) << "sequence";
  EXPECT_NE(s.row(0, 0, 256, 1), mask) << "head";
  EXPECT_NE(Source(0.5, 1).row(0, 0, 256), mask) << "key";
  Source other(0.5);
  other.dropout.dropout_id += 1;
  EXPECT_NE(other.row(0, 0, 256), mask) << "site";
}

TEST(DropoutMask, AppliesTheMultipliersToEveryDtype) {
  const Source s(0.25);
  const std::vector<float> mask = s.row(1, 0, 129);
  OperationContext context;
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    const Tensor x = random(context, {129}, dtype, 1);
    const std::vector<double> before = values(x);
    with_float_type(dtype, [&]<class T>() { cpu::DropoutMask(s.dropout).apply(1, x.data<T>(), 129); });
    const std::vector<double> after = values(x);
    for (size_t i = 0; i < 129; ++i) {
      EXPECT_NEAR(after[i], before[i] * mask[i], dtype == DType::BF16 ? 0.02 : 1e-6);
      EXPECT_EQ(after[i] == 0, mask[i] == 0);
    }
  }
}

TEST(DropoutMask, IsInactiveAtProbabilityZero) {
  EXPECT_FALSE(cpu::DropoutMask(Dropout{}).active());
  EXPECT_TRUE(cpu::DropoutMask(Source(0.1).dropout).active());
}

}  // namespace
}  // namespace weft
