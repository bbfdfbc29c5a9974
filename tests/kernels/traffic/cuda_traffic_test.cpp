// SPDX-License-Identifier: Apache-2.0
// The memory requests of CUDA kernels, counted by the simulated device from real addresses: at the widths of models,
// reads and writes are 16 bytes a lane and use nearly whole sectors, and shared memory has no bank conflicts.
#include "tests/kernels/traffic/cuda_traffic.h"

namespace weft {
namespace {

using test::CudaTraffic;
using test::TrafficCase;

std::string name_of(const testing::TestParamInfo<TrafficCase>& i) {
  return test::printable(testing::PrintToString(i.param));
}

class RowTraffic : public testing::TestWithParam<TrafficCase> {};
TEST_P(RowTraffic, ResidualNorm) { CudaTraffic(GetParam()).residual_norm(); }
TEST_P(RowTraffic, Embed) { CudaTraffic(GetParam()).embed(); }
TEST_P(RowTraffic, RowsAndColumns) { CudaTraffic(GetParam()).rows_and_columns(); }
TEST_P(RowTraffic, Optimizer) { CudaTraffic(GetParam()).optimizer(); }
TEST_P(RowTraffic, FixedPoint) { CudaTraffic(GetParam()).fixed_point(); }
TEST_P(RowTraffic, Activations) { CudaTraffic(GetParam()).activations(); }
TEST_P(RowTraffic, Heads) { CudaTraffic(GetParam()).heads(); }
TEST_P(RowTraffic, PackedProducts) { CudaTraffic(GetParam()).packed_products(); }
TEST_P(RowTraffic, Attention) { CudaTraffic(GetParam()).attention(); }
TEST_P(RowTraffic, AttentionInAWindow) { CudaTraffic(GetParam()).attention(33); }
TEST_P(RowTraffic, CachedAttentionInAWindow) { CudaTraffic(GetParam()).cached_attention(33); }
TEST_P(RowTraffic, CachedAttention) { CudaTraffic(GetParam()).cached_attention(); }
INSTANTIATE_TEST_SUITE_P(Widths, RowTraffic,
                         testing::Values(TrafficCase{DType::F32, 768}, TrafficCase{DType::BF16, 768},
                                         TrafficCase{DType::F32, 1600}, TrafficCase{DType::BF16, 1600}),
                         name_of);

class VocabularyTraffic : public testing::TestWithParam<TrafficCase> {};
TEST_P(VocabularyTraffic, CrossEntropy) { CudaTraffic(GetParam()).cross_entropy(); }
TEST_P(VocabularyTraffic, ChooseTokens) { CudaTraffic(GetParam()).choose_tokens(); }
INSTANTIATE_TEST_SUITE_P(Vocabularies, VocabularyTraffic,
                         testing::Values(TrafficCase{DType::F32, 50304}, TrafficCase{DType::BF16, 50304}), name_of);

// Every kernel is checked: the operations above run all of them.
TEST(CudaTraffic, EveryKernelIsHeldToTheRules) {
  CudaTraffic rows({DType::BF16, 768}), wide_rows({DType::BF16, 4096}), vocabulary({DType::BF16, 50304});
  wide_rows.residual_norm();
  rows.residual_norm(), rows.embed(), rows.rows_and_columns(), rows.optimizer(), rows.fixed_point();
  rows.activations(), rows.heads(), rows.packed_products(), rows.attention(), rows.cached_attention();
  vocabulary.cross_entropy(), vocabulary.choose_tokens();
  std::set<std::string> known = rows.ran();
  for (const CudaTraffic* more : {&wide_rows, &vocabulary}) known.insert(more->ran().begin(), more->ran().end());
  const std::set<std::string> all = test::kernels_of_the_program();
  for (const test::Exempt& exempt : test::exempt_kernels()) {
    EXPECT_TRUE(all.contains(exempt.kernel)) << exempt.kernel << ": no such kernel";
    known.insert(exempt.kernel);
  }
  for (const std::string& kernel : all) EXPECT_TRUE(known.contains(kernel)) << kernel;
}

}  // namespace
}  // namespace weft
