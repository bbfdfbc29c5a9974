// SPDX-License-Identifier: Apache-2.0
// What the host asks of cuBLASLt for a matrix product, and what it does if cuBLASLt offers nothing. The simulated
// library counts its calls, and refuses what it is told to refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/cuda/products/algorithm_table.h"
#include "kernels/cuda/products/prepared.h"
#include "kernels/cuda/tuning.h"
#include "simulator/runtime/simulator.h"
#include "tests/kernels/fixture/products.h"
#include "tests/support/cuda_devices.h"

namespace weft::cuda {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

using Calls = std::map<std::string, uint64_t>;

class Products : public testing::Test {
 protected:
  // The calls that the engine makes for a product.
  Calls calls(const FusedGemm& gemm) {
    cuda_device::simulator().library_calls.clear();
    engine.run(gemm);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return cuda_device::simulator().library_calls;
  }
  void SetUp() override {
    if (const std::string lacks = test::lacks_simulation(); !lacks.empty()) GTEST_SKIP() << lacks;
  }
  static void refuse(const char* what) { setenv("WEFT_CUDA_DEVICE_REFUSALS", what, 1); }
  void TearDown() override { unsetenv("WEFT_CUDA_DEVICE_REFUSALS"); }

  static auto is_made() { return AllOf(Contains(Key("cublasLtMatmulDescCreate")), Contains(Key("cublasLtMatmul"))); }
  static auto only_runs() { return ElementsAre(Pair("cublasLtMatmul", 1)); }

  Stream stream{0};
  MatmulEngine engine{stream};
};

TEST_F(Products, AShapeThatWasSeenIsNeitherDescribedNorAskedFor) {
  const Trial trial(32), same(32), other(33);
  EXPECT_THAT(calls(trial.gemm()), AllOf(is_made(), Contains(Key("cublasLtMatmulAlgoGetHeuristic")),
                                         Contains(Key("cublasLtMatmulAlgoCheck"))));
  EXPECT_THAT(calls(trial.gemm()), only_runs());
  EXPECT_THAT(calls(same.gemm()), only_runs());
  // 33 rows share the algorithm of 32, and the library is asked only whether it takes them.
  EXPECT_THAT(calls(other.gemm()), AllOf(is_made(), Not(Contains(Key("cublasLtMatmulAlgoGetHeuristic"))),
                                         Contains(Key("cublasLtMatmulAlgoCheck"))));
}

TEST_F(Products, TheAddressesOfAnEpilogueAreThoseOfEachProduct) {
  const Trial trial(32), other(32);
  const OnDevice<float> zeros(std::vector<float>(32)), ones(std::vector<float>(32, 1));
  const auto gemm = [](const Trial& of, const OnDevice<float>& bias) {
    FusedGemm g = of.gemm();
    g.bias = bias.get(), g.gelu = FusedGelu::Forward, g.saved = of.saved.get();
    return g;
  };
  calls(gemm(trial, zeros));
  EXPECT_THAT(calls(gemm(other, ones)),
              ElementsAre(Pair("cublasLtMatmul", 1), Pair("cublasLtMatmulDescSetAttribute", 2)));
  const std::vector<float> of_zeros = trial.saved.values(), of_ones = other.saved.values();
  for (size_t i = 0; i < static_cast<size_t>(32 * 32); ++i) EXPECT_FLOAT_EQ(of_ones[i], of_zeros[i] + 1) << i;
}

TEST_F(Products, WhateverAProductDependsOnIsAnotherOne) {
  const Trial trial(32, 32, 32);
  const OnDevice<float> bias(std::vector<float>(40));
  const FusedGemm plain = trial.gemm();
  FusedGemm biased = plain, apart = plain, turned = plain, adding = plain, moved = plain;
  biased.bias = bias.get(), apart.bias = bias.get() + 1;
  turned.transpose_a = adding.add = true;
  moved.a = trial.b.get() + 1, moved.m = 31, moved.k = 32;
  for (const FusedGemm& gemm : {plain, biased, apart, turned, adding, moved}) {
    EXPECT_THAT(calls(gemm), is_made());
    EXPECT_THAT(calls(gemm), Not(is_made()));
  }
  engine.set_options({.tf32 = true});
  EXPECT_THAT(calls(plain), is_made());
}

// The oldest of many is forgotten; one that is used is not old.
TEST_F(Products, OnlySoManyAreKept) {
  const Trial often(1, 8, 8), once(2, 8, 8);
  calls(often.gemm()), calls(once.gemm());
  const Trial many(4096 + 8, 8, 8);
  FusedGemm gemm = many.gemm();
  for (gemm.m = 3; gemm.m <= static_cast<int64_t>(tuning::kMostPreparedProducts); ++gemm.m) engine.run(gemm);
  EXPECT_THAT(calls(often.gemm()), only_runs());
  EXPECT_THAT(calls(gemm), is_made());
  EXPECT_THAT(calls(often.gemm()), only_runs());
  EXPECT_THAT(calls(once.gemm()), is_made());
}

// What was kept before does not count, nor does its age.
TEST(PreparedProducts, AreNoneWhenCleared) {
  PreparedProducts products(2);
  const auto key = [](int64_t m) {
    ProductKey made;
    made.m = m;
    return made;
  };
  const auto any = std::make_shared<Prepared>();
  products.keep(key(1), any), products.keep(key(2), any);
  products.clear();
  EXPECT_EQ(products.find(key(1)), nullptr);
  products.keep(key(1), any), products.keep(key(3), any);
  EXPECT_EQ(products.find(key(1)), any);
  EXPECT_EQ(products.find(key(3)), any);
}

// The element of op(a) or op(b) at a row and column, as a product reads it.
float at(const std::vector<float>& values, bool transposed, int64_t rows, int64_t columns, int64_t row,
         int64_t column) {
  return values[static_cast<size_t>(transposed ? column * rows + row : row * columns + column)];
}

// Every sum is one of fp32 over the inner dimension in its order, whatever the layout.
TEST_F(Products, WithoutTheLibraryEachSumHasOneOrder) {
  refuse("all");
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, {1, 70, 33}, {65, 1, 16}, {130, 67, 40}}) {
    for (int layout = 0; layout < 8; ++layout) {
      const Trial trial(m, n, k);
      FusedGemm gemm = trial.gemm();
      gemm.transpose_a = layout & 1, gemm.transpose_b = layout & 2, gemm.add = layout & 4;
      EXPECT_THAT(calls(gemm), Not(Contains(Key("cublasLtMatmul"))));
      const std::vector<float> a = trial.a.values(), b = trial.b.values(), c = trial.c.values();
      std::vector<float> expected(c.size(), 1);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (int64_t l = 0; l < k; ++l) {
            sum = std::fma(at(a, gemm.transpose_a, m, k, i, l), at(b, gemm.transpose_b, k, n, l, j), sum);
          }
          expected[static_cast<size_t>((i + 1) * n + j)] = gemm.add ? 1 + sum : sum;
        }
      }
      EXPECT_EQ(c, expected) << m << " " << n << " " << k << " layout " << layout;
    }
  }
}

// A product with each epilogue.
std::vector<FusedGemm> with_epilogues(const Trial& trial, const OnDevice<float>& bias) {
  std::vector<FusedGemm> all(4, trial.gemm());
  all[0].bias = all[1].bias = bias.get();
  all[1].gelu = all[2].gelu = FusedGelu::Forward, all[3].gelu = FusedGelu::Gradient;
  for (int i : {1, 2, 3}) all[static_cast<size_t>(i)].saved = trial.saved.get();
  return all;
}

TEST_F(Products, AnEpilogueThatIsRefusedIsAKernelOfItsOwn) {
  const OnDevice<float> bias(wave(24, 0.9f));
  for (size_t i = 0; i < 4; ++i) {
    const Trial whole(40, 24), apart(40, 24);
    MatmulEngine other(stream);
    const std::vector<float> expected = whole.run(other, with_epilogues(whole, bias)[i]);
    refuse("epilogues");
    const FusedGemm gemm = with_epilogues(apart, bias)[i];
    EXPECT_THAT(calls(gemm), Contains(Pair("cublasLtMatmul", 1)));
    unsetenv("WEFT_CUDA_DEVICE_REFUSALS");
    EXPECT_EQ(apart.saved.values(), whole.saved.values());
    const std::vector<float> got = apart.c.values();
    for (size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], expected[k], 1e-5 * (1 + std::abs(expected[k])));
    EXPECT_THAT(calls(gemm), only_runs());
  }
}

// Whatever came before, and in every process, a product is computed in the same way.
TEST_F(Products, TheWayFollowsFromTheShapeAlone) {
  const OnDevice<float> bias(wave(16, 0.9f));
  for (const char* setting : {"1", "2", "3", "4"}) {
    refuse(setting);
    MatmulEngine up(stream), down(stream);
    std::map<int64_t, std::vector<float>> results[2];
    const auto run = [&](MatmulEngine& of, int64_t rows) {
      const Trial trial(rows, 16, 48);
      std::vector<float> all;
      for (const FusedGemm& gemm : with_epilogues(trial, bias)) {
        for (const float value : trial.run(of, gemm)) all.push_back(value);
      }
      return all;
    };
    for (int64_t rows = 1; rows < 80; rows += 3) results[0][rows] = run(up, rows);
    for (int64_t rows = 79; rows >= 1; rows -= 3) results[1][rows] = run(down, rows);
    EXPECT_EQ(results[0], results[1]) << setting;
  }
}

TEST_F(Products, AWayThatWasChosenIsTakenOver) {
  const Trial trial(32);
  const OnDevice<float> bias(wave(32, 0.9f));
  const FusedGemm gemm = with_epilogues(trial, bias)[1];
  engine.set_options({.algorithms = AlgorithmChoice::Measured});
  refuse("all");
  const std::vector<float> expected = trial.run(engine, gemm);
  unsetenv("WEFT_CUDA_DEVICE_REFUSALS");
  std::multiset<std::string> ways;
  const nlohmann::json file = nlohmann::json::parse(engine.tuned());
  for (const auto& product : file.at("table").at("products")) ways.insert(product.at("way"));
  EXPECT_THAT(ways, ElementsAre("apart", "apart", "own"));  // GELU, the bias, the product
  MatmulEngine heir(stream);
  heir.set_options({.algorithms = AlgorithmChoice::Measured});
  heir.take_tuned(engine.tuned(), "some/file");
  cuda_device::simulator().library_calls.clear();
  EXPECT_EQ(trial.run(heir, gemm), expected);
  EXPECT_THAT(cuda_device::simulator().library_calls, Not(Contains(Key("cublasLtMatmul"))));
  EXPECT_EQ(heir.tuned(), engine.tuned());
}

// The simulated library is slow at GELU for some shapes; elsewhere a kernel more takes longer.
TEST_F(Products, GeluIsApartWhereThatIsFaster) {
  engine.set_options({.algorithms = AlgorithmChoice::Measured});
  const OnDevice<float> bias(wave(32, 0.9f));
  const Trial slow(32, 32, 64), fast(32, 32, 72);
  for (const Trial* trial : {&slow, &fast}) engine.run(with_epilogues(*trial, bias)[1]);
  std::map<int64_t, bool> apart;
  const nlohmann::json file = nlohmann::json::parse(engine.tuned());
  for (const auto& product : file.at("table").at("products")) {
    if (product.at("epilogue") == int{CUBLASLT_EPILOGUE_GELU_AUX_BIAS}) {
      apart[product.at("k").get<int64_t>()] = product.contains("way");
    }
  }
  EXPECT_THAT(apart, ElementsAre(Pair(64, true), Pair(72, false)));
}

// Each of three parts of the sum is a number of bf16, but two of them together are not.
TEST_F(Products, PartsOfASumAreKeptInFp32) {
  const auto bf16 = [](float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); };
  std::vector<uint16_t> a(64 * 48, bf16(0)), b(48 * 64, bf16(1));
  for (size_t row = 0; row < 64; ++row) {
    a[row * 48] = bf16(256), a[row * 48 + 1] = bf16(1), a[row * 48 + 47] = bf16(-256);
  }
  const OnDevice<uint16_t> left(a), right(b), result(std::vector<uint16_t>(64 * 64));
  const Gemm gemm{.m = 64,
                  .n = 64,
                  .k = 48,
                  .input = DType::BF16,
                  .output = DType::BF16,
                  .a = left.get(),
                  .b = right.get(),
                  .c = result.get()};
  engine.run({gemm});
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_THAT(result.values(), testing::Each(bf16(1)));
}

}  // namespace
}  // namespace weft::cuda
