// SPDX-License-Identifier: Apache-2.0
// The times of products and attentions on a device, computed by hand, and the shapes that operations state.
#include "plan/part_times.h"

#include <gtest/gtest.h>

#include "kernels/ops/attention.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"

namespace weft {
namespace {

// 25 TFLOP/s for each of 4 multiprocessors.
const DeviceSpec kFourProcessors{.memory_gbps = 1000,
                                 .bf16_teraflops = 200,
                                 .fp32_teraflops = 10,
                                 .multiprocessors = 4,
                                 .product_share = 0.5,
                                 .own_attention_teraflops = 50,
                                 .library_attention_teraflops = 80};
const Reach kReach{.tile_start = 100, .memory = 1, .fp32_attention = 0.5};

double seconds(const OperationPart& part, AttentionChoice attention = AttentionChoice::Auto,
               Precision precision = Precision::Bf16) {
  return PartTimes(kFourProcessors, kReach, precision, attention).seconds(part);
}
double product(int64_t m, int64_t n, int64_t k, double bytes = 0) {
  return seconds({.kind = OperationKind::Product, .m = m, .n = n, .k = k, .bytes = bytes});
}
OperationPart attention(int64_t length, bool backward, bool causal, bool for_libraries = true) {
  return {.kind = OperationKind::Attention,
          .m = length,
          .n = length,
          .k = 64,
          .backward = backward,
          .causal = causal,
          .for_libraries = for_libraries};
}

// Four tiles of 128 x 256, one for each multiprocessor, take 412 steps and the 100 of a start.
TEST(PartTimes, AWaveOfTilesTakesItsStepsAndItsStart) {
  EXPECT_DOUBLE_EQ(product(512, 256, 412), 2.0 * 128 * 256 * 512 / 25e12);
  EXPECT_DOUBLE_EQ(product(400, 200, 412), product(512, 256, 412));  // parts of tiles take whole ones
  EXPECT_DOUBLE_EQ(product(1024, 256, 412), 2 * product(512, 256, 412));
  EXPECT_GT(product(513, 256, 412), 1.4 * product(512, 256, 412));  // a row more needs another wave
}

// One tile of 128 x 128 leaves three multiprocessors idle: four take 500 of the 2,000 steps each.
TEST(PartTimes, FewTilesDivideTheInnerSize) {
  EXPECT_DOUBLE_EQ(product(128, 128, 2000), 2.0 * 128 * 128 * 600 / 25e12);
}

TEST(PartTimes, AProductTakesTheTimeOfItsBytesIfThatIsLonger) {
  EXPECT_DOUBLE_EQ(product(512, 256, 412, 1e9), 1e-3);
  EXPECT_DOUBLE_EQ(product(0, 256, 412), 0);
  EXPECT_DOUBLE_EQ(product(512, 256, 0, 1e9), 1e-3);
}

TEST(PartTimes, ALargerProductIsNeverFaster) {
  for (const int64_t m : {1, 127, 128, 129, 500, 513, 2048, 5000}) {
    for (const int64_t n : {1, 128, 257, 768, 1600}) {
      for (const int64_t k : {1, 64, 512, 768, 1023, 1024, 9000}) {
        EXPECT_LE(product(m, n, k), product(m + 1, n, k)) << m << " " << n << " " << k;
        EXPECT_LE(product(m, n, k), product(m, n + 1, k)) << m << " " << n << " " << k;
        EXPECT_LE(product(m, n, k), product(m, n, k + 1)) << m << " " << n << " " << k;
      }
    }
  }
}

// Of 256 queries and keys: own forward computes tiles of 128 x 64, of which the causal mask leaves 2 + 4; own backward
// 64 x 64, 1 + 2 + 3 + 4; a library 128 x 128, 1 + 2.
TEST(PartTimes, AttentionComputesWholeTilesBeforeTheMask) {
  const AttentionChoice own = AttentionChoice::Own, library = AttentionChoice::Cudnn;
  EXPECT_DOUBLE_EQ(seconds(attention(256, false, true), own), 2.0 * 2 * 64 * (6 * 128 * 64) / 50e12);
  EXPECT_DOUBLE_EQ(seconds(attention(256, true, true), own), 2.0 * 7 * 64 * (10 * 64 * 64) / 50e12);
  EXPECT_DOUBLE_EQ(seconds(attention(256, false, true), library), 2.0 * 2 * 64 * (3 * 128 * 128) / 80e12);
  EXPECT_DOUBLE_EQ(seconds(attention(256, true, true), library), 2.0 * 5 * 64 * (3 * 128 * 128) / 80e12);
  EXPECT_DOUBLE_EQ(seconds(attention(256, false, false), own), 2.0 * 2 * 64 * 256 * 256 / 50e12);
  EXPECT_DOUBLE_EQ(seconds(attention(25, false, true), own), 2.0 * 2 * 64 * 128 * 64 / 50e12);
}

// With a window of 64, of the same 256 own forward computes 2 + 3 tiles, own backward 1 + 2 + 2 + 2. Around a query of
// an encoder it is 3 + 3.
TEST(PartTimes, AttentionComputesNoTilesOutsideTheWindow) {
  OperationPart forward = attention(256, false, true, false), backward = attention(256, true, true, false);
  OperationPart around = attention(256, false, false, false);
  forward.window = backward.window = around.window = 64;
  EXPECT_DOUBLE_EQ(seconds(forward), 2.0 * 2 * 64 * (5 * 128 * 64) / 50e12);
  EXPECT_DOUBLE_EQ(seconds(backward), 2.0 * 7 * 64 * (7 * 64 * 64) / 50e12);
  EXPECT_DOUBLE_EQ(seconds(around), 2.0 * 2 * 64 * (6 * 128 * 64) / 50e12);
}

TEST(PartTimes, ALibraryAttendsToWindowsInBf16) {
  const AttentionChoice own = AttentionChoice::Own, library = AttentionChoice::Cudnn, automatic = AttentionChoice::Auto;
  const OperationPart windows = attention(256, true, true), pairs = attention(256, true, true, false);
  EXPECT_DOUBLE_EQ(seconds(pairs, library), seconds(windows, own));
  EXPECT_DOUBLE_EQ(seconds(windows, automatic), seconds(windows, own));
  DeviceSpec hopper = kFourProcessors;
  hopper.library_attends = true;
  EXPECT_DOUBLE_EQ(PartTimes(hopper, kReach, Precision::Bf16, automatic).seconds(windows), seconds(windows, library));
  EXPECT_DOUBLE_EQ(seconds(windows, library, Precision::Fp32), seconds(windows, own) * 50 / 5);
}

// The parts that a planned step keeps of one operation.
class OperationPartsTest : public testing::Test {
 protected:
  OperationPartsTest() { context.ledger().keep_parts(true); }
  OperationParts of(const char* name) { return context.ledger().entries().at(name).parts; }
  Tensor bf16(int64_t rows, int64_t columns) { return context.empty({rows, columns}, DType::BF16); }
  Tensor f32(int64_t rows, int64_t columns) { return context.empty({rows, columns}, DType::F32); }

  Context context{Device{DeviceKind::Meta}, 1};
};
using OperationPartsOf = OperationPartsTest;

TEST_F(OperationPartsOf, AForwardProductAndItsActivation) {
  LinearForward args{.x = bf16(10, 8), .weight = bf16(4, 8), .activation = Activation::GeluTanh, .y = bf16(10, 4)};
  const OperationPart product{
      .kind = OperationKind::Product, .m = 10, .n = 4, .k = 8, .bytes = 2.0 * (10 * 8 + 4 * 8 + 10 * 4)};
  linear_forward(context, args);
  EXPECT_EQ(of("linear_forward"), (OperationParts{{product, 1}}));
  args.activation = Activation::Relu;
  linear_forward(context, args);
  EXPECT_EQ(of("linear_forward"), (OperationParts{{product, 2}, {{.bytes = 2.0 * 2 * 10 * 4}, 1}}));
}

// The gradient of a weight is read and written if it is added to. Column sums read their rows again.
TEST_F(OperationPartsOf, ABackwardsProductsAndSums) {
  linear_backward(context, {.dy = bf16(10, 4),
                            .x = bf16(10, 8),
                            .weight = bf16(4, 8),
                            .dx = {bf16(10, 8), Accumulate::Overwrite},
                            .dweight = {f32(4, 8), Accumulate::Add},
                            .dbias = {context.empty({4}, DType::F32), Accumulate::Add}});
  const OperationPart dx{
      .kind = OperationKind::Product, .m = 10, .n = 8, .k = 4, .bytes = 2.0 * (10 * 4 + 4 * 8 + 10 * 8)};
  const OperationPart dweight{
      .kind = OperationKind::Product, .m = 4, .n = 8, .k = 10, .bytes = 2.0 * (10 * 4 + 10 * 8) + 2 * 4 * 4 * 8};
  EXPECT_EQ(of("linear_backward"), (OperationParts{{dx, 1}, {dweight, 1}, {{.bytes = 2.0 * 10 * 4}, 1}}));
}

TEST_F(OperationPartsOf, AMatmul) {
  matmul(context, {.a = bf16(10, 4), .b = bf16(10, 8), .c = f32(4, 8), .transpose_a = true, .mode = Accumulate::Add});
  const OperationPart part{
      .kind = OperationKind::Product, .m = 4, .n = 8, .k = 10, .bytes = 2.0 * (10 * 4 + 10 * 8) + 2 * 4 * 4 * 8};
  EXPECT_EQ(of("matmul"), (OperationParts{{part, 1}}));
}

// Each head of each sequence; several lengths are no windows.
TEST_F(OperationPartsOf, AttentionBySequence) {
  const auto attend = [&](const std::vector<int32_t>& ends) {
    const SharedOffsets offsets = share_offsets(context, ends);
    const int64_t rows = ends.back();
    attention_forward(context, {.qkv = bf16(rows, 3 * 2 * 64),
                                .heads = {.kv_heads = 2, .head_dim = 64},
                                .query_offsets = offsets,
                                .key_offsets = offsets,
                                .causal = true,
                                .scale = 1,
                                .out = bf16(rows, 2 * 64),
                                .log_sum = f32(2, rows)});
    return of("attention_forward");
  };
  const auto part = [](int64_t length, bool for_libraries) {
    OperationPart one = attention(length, false, true, for_libraries);
    one.bytes = 4.0 * static_cast<double>(length) * 64 * 2;
    return one;
  };
  EXPECT_EQ(attend({0, 5, 10}), (OperationParts{{part(5, true), 4}}));
  EXPECT_EQ(attend({0, 5, 12}), (OperationParts{{part(5, true), 4}, {part(5, false), 2}, {part(7, false), 2}}));
}

TEST_F(OperationPartsOf, NothingIfTheyAreNotKept) {
  context.ledger().keep_parts(false);
  matmul(context, {.a = bf16(10, 4), .b = bf16(4, 8), .c = bf16(10, 8)});
  EXPECT_TRUE(of("matmul").empty());
  EXPECT_EQ(context.ledger().entries().at("matmul").calls, 1);
}

}  // namespace
}  // namespace weft
