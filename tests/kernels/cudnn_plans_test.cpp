// SPDX-License-Identifier: Apache-2.0
// cuDNN's real plans, built with the functions that a job uses, for absent devices: what cuDNN refuses here it refuses
// on the device. No number is computed. cuDNN takes a description of a device in JSON, in its own format.
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "kernels/cuda/cudnn/attention_plan.h"

namespace weft::cuda {
namespace {

struct DescribedDevice {
  const char* name;
  int capability;
};

AttentionWindows causal_windows(int64_t length, int64_t head_dim) {
  return {.causal = true,
          .sequences = 2,
          .queries = length,
          .keys = length,
          .heads = 12,
          .head_dim = head_dim,
          .scale = 1 / std::sqrt(static_cast<double>(head_dim))};
}

AttentionWindows cross_windows(int64_t queries, int64_t keys, int64_t head_dim) {
  AttentionWindows windows = causal_windows(queries, head_dim);
  windows.cross = true, windows.causal = false, windows.keys = keys;
  return windows;
}

class CudnnPlans : public testing::TestWithParam<DescribedDevice> {
 protected:
  void SetUp() override {
    try {
      cudnn_version();
    } catch (const CudnnRefusal& refusal) {
      GTEST_SKIP() << refusal.what();
    }
    target_ = {.capability = GetParam().capability,
               .description = read_file(fs::path(WEFT_DEVICES) / fmt::format("{}.json", GetParam().name))};
  }

  size_t workspace(AttentionWindows windows, bool backward) const {
    windows.backward = backward;
    return build_cudnn_plan(windows, target_)->workspace();
  }

  // Both directions have plans whose workspace is as documented: backward, with sums of one order, keeps a bf16 matrix
  // of all pairs of a query and a key, in whole tiles of 128.
  void expect_plans(const AttentionWindows& w) const {
    const auto tiles = [](int64_t length) { return (length + 127) / 128 * 128; };
    const int64_t pairs = w.sequences * w.heads * tiles(w.queries) * tiles(w.keys);
    EXPECT_LE(workspace(w, false), size_t{64} << 10);
    EXPECT_LE(workspace(w, true), static_cast<size_t>(2 * pairs) + (size_t{1} << 20));
    EXPECT_GE(workspace(w, true), static_cast<size_t>(2 * w.sequences * w.heads * w.queries * w.keys));
  }

  std::string refusal(AttentionWindows windows, bool backward) const {
    windows.backward = backward;
    try {
      build_cudnn_plan(windows, target_);
    } catch (const CudnnRefusal& refusal) {
      return refusal.what();
    }
    return "";
  }

  CudnnTarget target_;
};

TEST_P(CudnnPlans, CausalWindows) { expect_plans(causal_windows(1024, 64)); }
TEST_P(CudnnPlans, CausalWindowsOfWideHeads) { expect_plans(causal_windows(1024, 128)); }
TEST_P(CudnnPlans, CausalWindowsOfOddLength) { expect_plans(causal_windows(333, 64)); }
TEST_P(CudnnPlans, OneSequence) {
  AttentionWindows windows = causal_windows(64, 64);
  windows.sequences = 1;
  expect_plans(windows);
}
TEST_P(CudnnPlans, WindowsThatSeeAllOfThemselves) {
  AttentionWindows windows = causal_windows(1024, 64);
  windows.causal = false;
  expect_plans(windows);
}
TEST_P(CudnnPlans, CrossAttention) {
  expect_plans(cross_windows(1024, 640, 64));
  expect_plans(cross_windows(333, 1024, 128));
}

// weft's own kernels then compute these heads, and the reason is logged.
TEST_P(CudnnPlans, HeadsOfWhichRowsDoNotBeginAtWholeVectorsAreRefused) {
  EXPECT_NE(refusal(causal_windows(1024, 65), false).find("multiple of 8"), std::string::npos);
  EXPECT_NE(refusal(causal_windows(1024, 65), true).find("multiple of 8"), std::string::npos);
}

TEST_P(CudnnPlans, ADeviceThatIsNotDescribedIsRefused) {
  target_.description = "{}";
  EXPECT_NE(refusal(causal_windows(1024, 64), false), "");
}

INSTANTIATE_TEST_SUITE_P(Devices, CudnnPlans, testing::Values(DescribedDevice{"a100", 80}, DescribedDevice{"h100", 90}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::cuda
