// SPDX-License-Identifier: Apache-2.0
// Gradients summed as integers: one sum for any grouping of terms, as near to the true one as sums in fp32.
#include "parallel/parameters/exact_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "base/divide_up.h"
#include "base/hash.h"
#include "kernels/ops/exact/fixed_point.h"
#include "parallel/local/in_process.h"
#include "parallel/parameters/gradient_buckets.h"

namespace weft {
namespace {

constexpr int kLeaves = 12, kFew = 4;  // kFew: four replicas have one each
constexpr int64_t kWeights = 60, kRows = 41, kColumns = 3;
constexpr int kExponent = 43;
constexpr int64_t kElements = kWeights + kRows * kColumns;

// Element i of the gradient of a leaf: as real gradients, of many magnitudes. Rows of the vocabulary fall from 1 to
// 2^-60, the other weights by 2^-13 alone.
float term(int leaf, int64_t i) {
  const uint64_t bits = hash64("term", static_cast<uint64_t>(leaf) * 1000 + static_cast<uint64_t>(i));
  const double fraction = static_cast<double>(bits >> 12) * 0x1p-52 - 0.4;
  const int64_t row = (i - kWeights) / kColumns;
  return static_cast<float>(
      std::ldexp(fraction, i < kWeights ? -static_cast<int>(i % 14) : -3 * static_cast<int>(row) / 2));
}

struct Grid {
  int dp = 1;
  ZeroStage zero = ZeroStage::Whole;
  int idle = 0;  // replicas without a leaf, the last ones
  int leaves = kLeaves;
};

// The reduced gradients of a vocabulary and of other weights, and the facts of both added over the ranks.
struct Summed {
  std::vector<float> gradient = std::vector<float>(kElements, NAN);
  std::vector<int64_t> squares = std::vector<int64_t>(4);
  bool operator==(const Summed&) const = default;
};

void write(const Tensor& to, int leaf, int64_t first, int64_t count, Accumulate mode) {
  ASSERT_EQ(mode, Accumulate::Overwrite) << "each leaf begins from nothing";
  for (int64_t i = 0; i < count; ++i) to.data<float>()[i] = term(leaf, first + i);
}

Summed summed(const Grid& grid) {
  Summed all;
  std::mutex mutex;
  run_in_process({.dp = grid.dp}, [&](Mesh& mesh, int rank) {
    Context context(Device{}, 1);
    ParameterRegistry registry(context, mesh);
    const Parameter& weights = registry.add({.name = "weights", .shape = {kWeights}});
    const Parameter& vocabulary = registry.add(
        {.name = "vocabulary", .shape = {kRows, kColumns}, .placement = sharded(MeshAxis::Tp, 0), .padded = true});
    registry.allocate(Precision::Fp32, Purpose::Training, {.zero = grid.zero, .exact = true, .bucket_bytes = 4});
    GradientBuckets buckets(registry);
    const std::vector<int32_t> exponents(2, kExponent);
    const int active = grid.dp - grid.idle;
    std::vector<int> mine;
    for (int leaf = 0; leaf < grid.leaves; ++leaf) {
      if (leaf % active == rank) mine.push_back(leaf);
    }
    const int64_t rounds = divide_up(grid.leaves, active);
    buckets.exact()->prepare(exponents, rounds);
    buckets.begin_step();
    for (size_t i = 0; i < static_cast<size_t>(rounds); ++i) {
      buckets.begin_micro_batch(i + 1 == mine.size());
      if (i < mine.size()) {
        const Gradient of_rows = buckets.contribute(vocabulary);
        write(of_rows.tensor, mine[i], kWeights, kRows * kColumns, of_rows.mode);
        buckets.progress();
        const Gradient of_weights = buckets.contribute(weights);
        write(of_weights.tensor, mine[i], 0, kWeights, of_weights.mode);
        buckets.progress();
      }
      buckets.end_micro_batch();
    }
    buckets.finish();
    const std::lock_guard lock(mutex);
    const int64_t* facts = buckets.exact()->facts().data<int64_t>();
    for (size_t p = 0; p < 2; ++p) {
      all.squares[2 * p] += facts[p * kFixedPointFacts + kFactSquaresHigh];
      all.squares[2 * p + 1] += facts[p * kFixedPointFacts + kFactSquaresLow];
      EXPECT_EQ(facts[p * kFixedPointFacts + kFactFlags], 0);
    }
    const FlatBuffer& reduced = registry.reduced_gradient();
    for (const Parameter* p : {&weights, &vocabulary}) {
      const int64_t first = p == &weights ? 0 : kWeights;
      for (const FlatRange& part : reduced.parts({p->flat_offset(), p->flat_offset() + p->extent().elements()})) {
        const Tensor piece = reduced.piece(part);
        std::copy_n(piece.data<float>(), piece.elements(), &all.gradient[first + part.begin - p->flat_offset()]);
      }
    }
  });
  return all;
}

TEST(ExactSums, AreTheSameForAnyGrouping) {
  for (const int leaves : {kFew, kLeaves}) {
    const Summed one = summed({.leaves = leaves});
    for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
      for (const auto& [dp, idle] :
           {std::pair(2, 0), std::pair(3, 0), std::pair(4, 0), std::pair(5, 0), std::pair(4, 1), std::pair(5, 1)}) {
        EXPECT_EQ(summed({.dp = dp, .zero = zero, .idle = idle, .leaves = leaves}), one)
            << leaves << " leaves, " << dp << " replicas, zero " << static_cast<int>(zero);
      }
    }
  }
}

// A step of one leaf each may follow one of several, and the other way round.
TEST(ExactSums, HoldIntegersOnlyForStepsOfSeveralLeaves) {
  const auto bytes = [](const Grid& grid, std::vector<int64_t> steps) {
    std::vector<size_t> held;
    run_in_process({.dp = grid.dp}, [&](Mesh& mesh, int rank) {
      Context context(Device{}, 1);
      ParameterRegistry registry(context, mesh);
      registry.add({.name = "weights", .shape = {1280}});
      registry.allocate(Precision::Fp32, Purpose::Training, {.zero = grid.zero, .exact = true});
      ExactSums sums(registry);
      for (const int64_t leaves : steps) {
        sums.prepare(std::vector<int32_t>{kExponent}, leaves);
        if (rank == 0) held.push_back(sums.bytes());
      }
    });
    return held;
  };
  constexpr size_t kWhole = 1280 * 8;
  using Held = std::vector<size_t>;
  EXPECT_EQ(bytes({.dp = 1}, {1, 2, 1}), (Held{0, kWhole, kWhole}));
  EXPECT_EQ(bytes({.dp = 4}, {1, 3}), (Held{0, kWhole + kWhole / 4}));
  EXPECT_EQ(bytes({.dp = 4, .zero = ZeroStage::Optimizer}, {2}), (Held{kWhole + kWhole / 4}));
  EXPECT_EQ(bytes({.dp = 4, .zero = ZeroStage::Gradients}, {1, 2}), (Held{0, kWhole / 4}));
}

TEST(ExactSums, AreAsNearToTheTrueSumAsThoseInFp32) {
  const Summed found = summed({.dp = 3, .zero = ZeroStage::Gradients});
  double squares = 0;
  for (int64_t i = 0; i < kElements; ++i) {
    double exact = 0;
    float ordinary = 0;
    for (int leaf = 0; leaf < kLeaves; ++leaf) exact += term(leaf, i), ordinary += term(leaf, i);
    const double error = std::abs(found.gradient[static_cast<size_t>(i)] - exact);
    // The last rounding, to fp32, is common to both.
    EXPECT_LE(error, std::max(std::abs(ordinary - exact), 0x1.001p-24 * std::abs(exact))) << i;
    squares += exact * exact;
  }
  double counted = 0;
  for (size_t p = 0; p < 2; ++p) {
    const double units = static_cast<double>(found.squares[2 * p]) + std::ldexp(found.squares[2 * p + 1], -31);
    counted += std::ldexp(units, kSquareUnitBits - 2 * kExponent);
  }
  EXPECT_NEAR(counted, squares, 1e-6 * squares);
}

}  // namespace
}  // namespace weft
