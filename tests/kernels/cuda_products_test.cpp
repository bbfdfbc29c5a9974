// SPDX-License-Identifier: Apache-2.0
// What the host asks of cuBLASLt for a matrix product. The simulated library counts its calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/tuning.h"
#include "simulator/runtime/simulator.h"
#include "tests/kernels/fixture/products.h"

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

}  // namespace
}  // namespace weft::cuda
