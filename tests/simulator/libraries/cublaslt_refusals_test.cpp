// SPDX-License-Identifier: Apache-2.0
// Products that the simulated cuBLASLt refuses because it is told to.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "tests/simulator/libraries/fixture/product_trial.h"

namespace weft::cuda_device {
namespace {

// What is drawn depends on the setting and the question alone.
class Refusals : public DeviceTest {
 protected:
  void TearDown() override {
    unsetenv("WEFT_CUDA_DEVICE_REFUSALS");
    DeviceTest::TearDown();
  }
  static void refuse(const std::string& what) { setenv("WEFT_CUDA_DEVICE_REFUSALS", what.c_str(), 1); }
  static size_t offered(const Case& c) { return Trial(c).algorithms().size(); }
};

TEST_F(Refusals, WhatIsNamedIsRefused) {
  const Case plain{}, biased{.epilogue = CUBLASLT_EPILOGUE_BIAS};
  EXPECT_EQ(offered(plain) * offered(biased), 16u);
  refuse("epilogues");
  EXPECT_EQ(offered(plain), 4u);
  EXPECT_EQ(offered(biased), 0u);
  refuse("all");
  EXPECT_EQ(offered(plain), 0u);
  refuse("0");
  EXPECT_EQ(offered(biased), 4u);
}

TEST_F(Refusals, EachSettingDrawsOfEveryKindAndAlwaysTheSame) {
  for (const char* setting : {"1", "2", "3"}) {
    refuse(setting);
    std::map<std::string, int> kinds;
    for (int64_t m = 8; m <= 400; m += 8) {
      const Case plain{.m = m, .n = 16, .k = 32};
      Case biased = plain;
      biased.epilogue = CUBLASLT_EPILOGUE_BIAS;
      const size_t without = offered(plain), with = offered(biased);
      EXPECT_EQ(offered(plain), without);
      EXPECT_LE(with, without);
      ++kinds[without == 0 ? "none" : with == 0 ? "no epilogue" : without < 4 ? "some" : "all"];
      Trial trial(plain);
      const bool any = !trial.algorithms(1 << 16, 256, std::nullopt).empty();
      EXPECT_EQ(trial.on(nullptr) == CUBLAS_STATUS_SUCCESS, any) << m;
      if (without == 0)
        ++kinds[trial.algorithms().empty() && trial.status == CUBLAS_STATUS_SUCCESS ? "silent" : "said"];
    }
    for (const char* kind : {"none", "no epilogue", "some", "all", "silent", "said"}) EXPECT_GT(kinds[kind], 0) << kind;
  }
}

TEST_F(Refusals, OneRowOrColumnIsAWrongArgument) {
  refuse("7");
  for (const Case& c : {Case{.m = 1, .pad = 7}, Case{.n = 1}, Case{.k = 1}}) {
    Trial trial(c);
    trial.algorithms();
    EXPECT_THAT(trial.status, testing::AnyOf(CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_SUCCESS));
    EXPECT_EQ(trial.on(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  }
}

// An algorithm that was offered for one number of columns is not taken for another.
TEST_F(Refusals, AnAlgorithmIsNotForEverySize) {
  int refused = 0;
  Trial chosen({.m = 32, .n = 32, .k = 64});
  const cublasLtMatmulAlgo_t algorithm = chosen.algorithms()[0].algo;
  refuse("1");
  for (int64_t n = 8; n <= 256; n += 8) {
    Trial other({.m = 32, .n = n, .k = 64});
    cublasLtMatmulHeuristicResult_t result;
    const cublasStatus_t checked = cublasLtMatmulAlgoCheck(other.handle, other.description, other.la, other.lb,
                                                           other.ld, other.ld, &algorithm, &result);
    EXPECT_EQ(other.on(nullptr, &algorithm) == CUBLAS_STATUS_SUCCESS, checked == CUBLAS_STATUS_SUCCESS) << n;
    refused += checked != CUBLAS_STATUS_SUCCESS && !other.algorithms().empty();
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace weft::cuda_device
