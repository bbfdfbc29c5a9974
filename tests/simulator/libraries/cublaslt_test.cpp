// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tests/simulator/libraries/fixture/product_trial.h"

namespace weft::cuda_device {
namespace {

using testing::HasSubstr;

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

// The results in double: D, its values before an activation, and sums.
struct Reference {
  explicit Reference(const Trial& r) : before(static_cast<size_t>(r.c.m * r.c.n * r.c.batch)), d(before.size()) {
    const Case& c = r.c;
    for (int q = 0; q < c.batch; ++q)
      for (int64_t i = 0; i < c.m; ++i)
        for (int64_t j = 0; j < c.n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < c.k; ++l)
            sum += double{r.va[c.transpose_a ? r.a.at(l, i, q) : r.a.at(i, l, q)]} *
                   r.vb[c.transpose_b ? r.b.at(j, l, q) : r.b.at(l, j, q)];
          double x = c.alpha * sum + c.beta * r.vd[r.d.at(i, j, q)];
          if (c.epilogue & 4) x += r.bias_values[static_cast<size_t>(i)];
          const auto at = static_cast<size_t>((q * c.n + j) * c.m + i);
          before[at] = x;
          if (c.epilogue & CUBLASLT_EPILOGUE_GELU) x = gelu(x);
          if (c.epilogue & 64) x *= gelu_slope(r.aux_values[static_cast<size_t>(j * r.stride() + i)]);
          d[at] = x;
        }
  }
  std::vector<double> before, d;
};

class CublasLt : public DeviceTest {
 protected:
  void expect_near(double got, double want, cudaDataType type) {
    const double relative = type == CUDA_R_16BF ? 1. / 256 : 1e-5;  // half a step of bf16; rounding of fp32 sums
    EXPECT_NEAR(got, want, relative * (1 + std::abs(want)));
  }
  void expect_product(const Case& c) {
    Trial trial(c);
    const Reference want(trial);
    const std::vector<float> got = trial.result();
    for (int q = 0; q < c.batch; ++q)
      for (int64_t j = 0; j < c.n; ++j)
        for (int64_t i = 0; i < c.m; ++i)
          expect_near(got[trial.d.at(i, j, q)], want.d[static_cast<size_t>((q * c.n + j) * c.m + i)], c.out);
    // The memory between the lines must not change.
    for (int64_t line = 0; line < trial.d.lines(); ++line)
      for (int64_t k = trial.d.stride() - c.pad; k < trial.d.stride(); ++k) {
        const auto at = static_cast<size_t>(line * trial.d.stride() + k);
        EXPECT_EQ(got[at], trial.vd[at]);
      }
  }
};

TEST_F(CublasLt, MultipliesInEveryLayout) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const cublasLtOrder_t order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW})
        expect_product({.transpose_a = transpose_a, .transpose_b = transpose_b, .order = order, .pad = 8});
}
TEST_F(CublasLt, MultipliesOddShapesUnaligned) { expect_product({.m = 7, .n = 5, .k = 3, .pad = 1}); }
TEST_F(CublasLt, MultipliesBf16IntoEither) {
  expect_product({.type = CUDA_R_16BF, .out = CUDA_R_16BF});
  expect_product({.type = CUDA_R_16BF, .out = CUDA_R_32F, .transpose_a = true});
}
TEST_F(CublasLt, ScalesAndAdds) { expect_product({.alpha = -0.5f, .beta = 1}); }
TEST_F(CublasLt, MultipliesBatches) { expect_product({.m = 8, .n = 8, .k = 8, .batch = 3}); }

TEST_F(CublasLt, AddsABiasAndAppliesGeluAndKeepsItsInput) {
  for (const cudaDataType type : {CUDA_R_32F, CUDA_R_16BF})
    for (const auto epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS,
                                CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}) {
      const Case c{.type = type, .out = type, .epilogue = epilogue, .aux_stride = 32};
      expect_product(c);
      Trial trial(c);
      const Reference want(trial);
      trial.result();
      const std::vector<float> kept = loaded(trial.aux.on_host(), type);
      for (int64_t j = 0; j < c.n; ++j)
        for (int64_t i = 0; i < 32; ++i) {
          const auto at = static_cast<size_t>(j * 32 + i);
          if ((epilogue & 128) && i < c.m)
            expect_near(kept[at], want.before[static_cast<size_t>(j * c.m + i)], type);
          else
            EXPECT_EQ(kept[at], trial.aux_values[at]);
        }
    }
}

TEST_F(CublasLt, GivesGradientsOfGeluAndOfTheBias) {
  for (const cudaDataType type : {CUDA_R_32F, CUDA_R_16BF})
    for (const auto epilogue : {CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD}) {
      const Case c{.type = type, .out = type, .epilogue = epilogue};
      expect_product(c);
      Trial trial(c);
      const Reference want(trial);
      trial.result();
      const std::vector<float> bias = loaded(trial.bias.on_host(), type);
      for (int64_t i = 0; i < c.m; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < c.n; ++j) sum += want.d[static_cast<size_t>(j * c.m + i)];
        const auto at = static_cast<size_t>(i);
        if (epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD)
          expect_near(bias[at], sum, type);
        else
          EXPECT_EQ(bias[at], trial.bias_values[at]);
      }
    }
}

TEST_F(CublasLt, SumsAnOperandOverTheInnerDimension) {
  for (const bool transposed : {false, true})
    for (const auto epilogue : {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB}) {
      Case c{.transpose_a = transposed, .transpose_b = transposed, .epilogue = epilogue};
      expect_product(c);
      Trial trial(c);
      trial.result();
      const std::vector<float> bias = loaded(trial.bias.on_host(), CUDA_R_32F);
      const bool of_a = epilogue == CUBLASLT_EPILOGUE_BGRADA;
      for (int64_t i = 0; i < (of_a ? c.m : c.n); ++i) {
        double sum = 0;
        for (int64_t l = 0; l < c.k; ++l)
          sum += of_a ? trial.va[transposed ? trial.a.at(l, i) : trial.a.at(i, l)]
                      : trial.vb[transposed ? trial.b.at(i, l) : trial.b.at(l, i)];
        expect_near(bias[static_cast<size_t>(i)], sum, CUDA_R_32F);
      }
    }
}

TEST_F(CublasLt, AlgorithmsDifferInTheirBitsAndRepeatTheirOwn) {
  Trial trial({.m = 32, .n = 32, .k = 256});
  const auto found = trial.algorithms();
  ASSERT_EQ(found.size(), 4u);
  std::vector<std::vector<float>> results;
  for (const auto& one : found) {
    results.push_back(trial.result(&one.algo));
    EXPECT_EQ(trial.result(&one.algo), results.back());
  }
  for (size_t k = 1; k < results.size(); ++k) EXPECT_NE(results[0], results[k]);
}

TEST_F(CublasLt, UnaskedOneAddsItsPartsInPlaceInAnyOrder) {
  Trial trial({.m = 32, .n = 32, .k = 256, .type = CUDA_R_16BF, .out = CUDA_R_16BF});
  const auto found = trial.algorithms(1 << 16, 256, std::nullopt);
  ASSERT_EQ(found.size(), 6u);
  std::set<std::vector<float>> results;
  for (int i = 0; i < 20; ++i) results.insert(trial.result(&found[0].algo));
  EXPECT_GT(results.size(), 1u);
}

// Sums of parts in bf16: 257 is none of its numbers.
TEST_F(CublasLt, UnaskedOneKeepsItsPartialSumsInTheResultsType) {
  Trial trial({.m = 8, .n = 8, .k = 48, .type = CUDA_R_16BF, .out = CUDA_R_16BF});
  std::vector<float> a(8 * 48), b(48 * 8, 1);
  for (size_t row = 0; row < 8; ++row) a[row] = 256, a[8 + row] = 1, a[47 * 8 + row] = -256;
  ok(cudaMemcpy(trial.at_a.p, stored(a, CUDA_R_16BF).data(), a.size() * 2, cudaMemcpyHostToDevice));
  ok(cudaMemcpy(trial.at_b.p, stored(b, CUDA_R_16BF).data(), b.size() * 2, cudaMemcpyHostToDevice));
  constexpr uint32_t kInType = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  EXPECT_EQ(trial.result(&trial.algorithms()[0].algo)[0], 1);
  EXPECT_EQ(trial.result(&trial.algorithms(1 << 16, 256, kInType)[0].algo)[0], 0);
}

TEST_F(CublasLt, WhatWasPromisedOfAddressesIsHeld) {
  // Operands and bias have room behind them.
  Trial trial({.m = 24, .n = 32, .k = 64, .epilogue = CUBLASLT_EPILOGUE_BIAS, .pad = 8});
  const cublasLtMatmulAlgo_t any = trial.algorithms(0)[0].algo;
  const auto set_bias = [&](size_t shift) {
    void* const bias = trial.bias.p + shift;
    cublasLtMatmulDescSetAttribute(trial.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  };
  EXPECT_EQ(trial.on(nullptr, &any, 4), CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(reported(), HasSubstr("A lies at a multiple of 4 bytes, and its algorithm was chosen for 256"));
  set_bias(8);
  EXPECT_EQ(trial.on(nullptr, &any), CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(reported(), HasSubstr("the bias lies at a multiple of 8 bytes"));
  cublasLtMatmulHeuristicResult_t result;
  EXPECT_EQ(
      cublasLtMatmulAlgoCheck(trial.handle, trial.description, trial.la, trial.lb, trial.ld, trial.ld, &any, &result),
      CUBLAS_STATUS_NOT_SUPPORTED);
  // What is asked for with this bias may be used with it.
  const cublasLtMatmulAlgo_t asked = trial.algorithms(0, 4)[0].algo;
  EXPECT_EQ(trial.on(nullptr, &asked, 4), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLt, AnAlgorithmIsTakenForOtherProductsThatItFits) {
  Trial chosen({.m = 32, .n = 32, .k = 64}), longer({.m = 32, .n = 64, .k = 64}), odd({.m = 31, .n = 32, .k = 64});
  const auto found = chosen.algorithms();
  const auto check = [&](const Trial& trial) {
    cublasLtMatmulHeuristicResult_t result;
    const cublasStatus_t status = cublasLtMatmulAlgoCheck(trial.handle, trial.description, trial.la, trial.lb, trial.ld,
                                                          trial.ld, &found[0].algo, &result);
    if (status == CUBLAS_STATUS_SUCCESS) {
      EXPECT_EQ(result.workspaceSize, 2 * found[0].workspaceSize);
    }
    return status;
  };
  EXPECT_EQ(check(longer), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(check(odd), CUBLAS_STATUS_NOT_SUPPORTED);
  const Reference want(longer);
  const std::vector<float> got = longer.result(&found[0].algo);
  for (size_t k = 0; k < got.size(); ++k) expect_near(got[k], want.d[k], CUDA_R_32F);
}

TEST_F(CublasLt, OffersOnlyAlgorithmsThatFit) {
  Trial trial({.m = 32, .n = 32, .k = 64});
  EXPECT_EQ(trial.algorithms(0).size(), 1u);
  EXPECT_EQ(trial.algorithms(1 << 16, 4).size(), 1u);
  EXPECT_EQ(Trial({.m = 31, .n = 32, .k = 64}).algorithms().size(), 1u);
}

TEST_F(CublasLt, AnAlgorithmThatWantsAlignmentRefusesLess) {
  Trial trial({.m = 32, .n = 32, .k = 64});
  const auto found = trial.algorithms();
  EXPECT_EQ(trial.on(nullptr, &found[0].algo, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(reported(), HasSubstr("A lies at a multiple of 4 bytes"));
}

TEST_F(CublasLt, RefusesWhatTheManualDoes) {
  const auto refused = [&](const Case& c) {
    Trial trial(c);
    const cublasStatus_t status = trial.on(nullptr);
    EXPECT_TRUE(trial.algorithms().empty());
    EXPECT_EQ(trial.status, status);
    return status;
  };
  EXPECT_EQ(refused({.m = 20, .epilogue = CUBLASLT_EPILOGUE_GELU_AUX, .aux_stride = 20}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(refused({.m = 24, .epilogue = CUBLASLT_EPILOGUE_DGELU, .aux_stride = 16}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(refused({.epilogue = CUBLASLT_EPILOGUE_RELU}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(refused({.type = CUDA_R_32F, .out = CUDA_R_16BF}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(refused({.type = CUDA_R_16F, .out = CUDA_R_16F}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(refused({.compute = CUBLAS_COMPUTE_64F}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(refused({.n = 0}), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, Tf32RoundsItsOperandsAndIsOnlyUsedIfAskedFor) {
  Case c{.m = 1, .n = 1, .k = 1};
  Trial exact(c);
  c.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  Trial rounded(c);
  const std::vector<float> one = {1}, fine = {1 + 1.f / 4096};
  for (Trial* trial : {&exact, &rounded}) {
    ok(cudaMemcpy(trial->at_a.p, fine.data(), 4, cudaMemcpyHostToDevice));
    ok(cudaMemcpy(trial->at_b.p, one.data(), 4, cudaMemcpyHostToDevice));
  }
  EXPECT_EQ(exact.result()[0], fine[0]);
  EXPECT_EQ(rounded.result()[0], 1);
}

TEST_F(CublasLt, AWorkspaceThatTwoStreamsShareIsARace) {
  Trial one({.m = 32, .n = 32, .k = 64}), other({.m = 32, .n = 32, .k = 64});
  const auto found = one.algorithms();
  ASSERT_GT(found[0].workspaceSize, 0u);
  const auto with = [&](Trial& trial, void* workspace, cudaStream_t stream) {
    EXPECT_EQ(cublasLtMatmul(trial.handle, trial.description, &trial.c.alpha, trial.at_a.p, trial.la, trial.at_b.p,
                             trial.lb, &trial.c.beta, trial.at_d.p, trial.ld, trial.at_d.p, trial.ld, &found[0].algo,
                             workspace, 1 << 16, stream),
              CUBLAS_STATUS_SUCCESS);
  };
  with(one, one.workspace.p, new_stream());
  with(other, other.workspace.p, new_stream());
  ok(cudaDeviceSynchronize());
  EXPECT_EQ(reported(), "");
  with(one, one.workspace.p, new_stream());
  with(other, one.workspace.p, new_stream());
  ok(cudaDeviceSynchronize());
  EXPECT_THAT(reported(), testing::AllOf(HasSubstr("race: cublasLtMatmul: workspace"), HasSubstr("32 x 32 x 64")));
}

TEST_F(CublasLt, OperandsAreCheckedAsAKernelsAre) {
  Trial trial({});
  OnDevice<std::byte> fresh(trial.at_b.count);
  EXPECT_EQ(cublasLtMatmul(trial.handle, trial.description, &trial.c.alpha, trial.at_a.p, trial.la, fresh.p, trial.lb,
                           &trial.c.beta, trial.at_d.p, trial.ld, trial.at_d.p, trial.ld, nullptr, nullptr, 0, nullptr),
            CUBLAS_STATUS_SUCCESS);
  ok(cudaDeviceSynchronize());
  EXPECT_THAT(reported(), HasSubstr("uninitialised: cublasLtMatmul: B"));
}

TEST_F(CublasLt, AResultOverAnOperandIsARace) {
  Trial trial({.m = 16, .n = 16, .k = 16});
  EXPECT_EQ(
      cublasLtMatmul(trial.handle, trial.description, &trial.c.alpha, trial.at_a.p, trial.la, trial.at_b.p, trial.lb,
                     &trial.c.beta, trial.at_b.p, trial.ld, trial.at_b.p, trial.ld, nullptr, nullptr, 0, nullptr),
      CUBLAS_STATUS_SUCCESS);
  ok(cudaDeviceSynchronize());
  EXPECT_THAT(reported(), HasSubstr("race: cublasLtMatmul: D is written where B is read"));
}

}  // namespace
}  // namespace weft::cuda_device
