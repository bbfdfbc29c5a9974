// SPDX-License-Identifier: Apache-2.0
// Products and sums that PTX allows to be rounded together.
#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

constexpr Contraction kNone{}, kAll{.all = true};

// The square of kBase is not a float: rounded on its own, it is kRounded, and exactly, it is kLost more.
constexpr float kBase = 1 + 0x1p-12F, kRounded = 1 + 0x1p-11F, kLost = 0x1p-24F;

// Runs statements on 32 equal lanes: %f1, %f2 and %f3 are kBase, kBase and kRounded, %f0 the result.
float result_of(const std::string& statements, const Contraction& contraction) {
  TestDevice device;
  device.contraction = contraction;
  const uint64_t from = device.put(std::vector{kBase, kBase, kRounded}), to = device.allocate(4);
  device.run_body("ld.global.f32 %f1, [%rd0]; ld.global.f32 %f2, [%rd0+4]; ld.global.f32 %f3, [%rd0+8];\n" +
                      statements +
                      "\n.reg .pred %first;\nsetp.eq.u32 %first, %t, 0;\n@%first st.global.f32 [%rd1], %f0;",
                  2, {from, to});
  EXPECT_EQ(device.findings(), "") << statements;
  return device.get<float>(to, 1).front();
}

TEST(Contraction, IsDoneIfAskedFor) {
  const std::string difference = "mul.f32 %f4, %f1, %f2; sub.f32 %f0, %f4, %f3;";
  EXPECT_EQ(result_of(difference, kNone), 0);
  EXPECT_EQ(result_of(difference, kAll), kLost);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f2; sub.f32 %f0, %f3, %f4;", kAll), -kLost);
  EXPECT_EQ(result_of("neg.f32 %f3, %f3; mul.f32 %f4, %f1, %f2; add.f32 %f0, %f3, %f4;", kAll), kLost);
  EXPECT_EQ(result_of("neg.f32 %f3, %f3; mul.f32 %f4, %f1, %f2; add.f32 %f0, %f4, %f3;", kAll), kLost);
}

TEST(Contraction, KeepsOtherUsesOfTheProduct) {
  EXPECT_EQ(
      result_of("mul.f32 %f4, %f1, %f2; sub.f32 %f5, %f4, %f3; sub.rn.f32 %f6, %f4, %f3; add.f32 %f0, %f5, %f6;", kAll),
      kLost);
}

TEST(Contraction, FlushesSubnormalsAsBothInstructionsDo) {
  // 0 + 2^-127
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, 0f00000000; add.f32 %f0, %f4, 0f00400000;", kAll), 0x1p-127F);
  EXPECT_EQ(result_of("mul.ftz.f32 %f4, %f1, 0f00000000; add.ftz.f32 %f0, %f4, 0f00400000;", kAll), 0);
  EXPECT_EQ(result_of("mul.ftz.f32 %f4, %f1, %f2; sub.ftz.f32 %f0, %f4, %f3;", kAll), kLost);
}

TEST(Contraction, HoldsForDoubles) {
  // 2^-30 + 1 squared is 2^-29 + 1 and 2^-60 more, which a double of this size does not hold.
  const std::string product =
      "mov.f64 %fd1, 0d3FF0000000400000; mul.f64 %fd2, %fd1, %fd1; sub.f64 %fd3, %fd2, 0d3FF0000000800000;\n"
      "cvt.rn.f32.f64 %f0, %fd3;";
  EXPECT_EQ(result_of(product, kNone), 0);
  EXPECT_EQ(result_of(product, kAll), 0x1p-60F);
}

TEST(Contraction, IsNotDone) {
  const std::pair<const char*, const char*> cases[] = {
      {"if the product's rounding is named", "mul.rn.f32 %f4, %f1, %f2; sub.f32 %f0, %f4, %f3;"},
      {"if the sum's rounding is named", "mul.f32 %f4, %f1, %f2; sub.rn.f32 %f0, %f4, %f3;"},
      {"if one of the two flushes", "mul.ftz.f32 %f4, %f1, %f2; sub.f32 %f0, %f4, %f3;"},
      {"if the sum is saturated", "mul.f32 %f4, %f1, %f2; sub.sat.f32 %f0, %f4, %f3;"},
      {"if the product is saturated", "mul.sat.f32 %f4, %f1, %f2; sub.f32 %f0, %f4, 0f3F800000;"},
      {"if a factor has changed", "mul.f32 %f4, %f1, %f2; mov.f32 %f2, 0f00000000; sub.f32 %f0, %f4, %f3;"},
      {"if the product was made in place", "mul.f32 %f1, %f1, %f2; sub.f32 %f0, %f1, %f3;"},
      {"if the product was overwritten", "mul.f32 %f4, %f1, %f2; mov.f32 %f4, %f3; sub.f32 %f0, %f4, %f3;"},
      {"if lanes may lack the product",
       "mov.f32 %f4, %f3; setp.gt.u32 %p1, %t, 4; @%p1 mul.f32 %f4, %f1, %f2; sub.f32 %f0, %f4, %f3;"},
      {"with a product of another block",
       "mul.f32 %f4, %f1, %f2; setp.gt.u32 %p1, %t, 4; @%p1 bra next; next: sub.f32 %f0, %f4, %f3;"},
  };
  for (const auto& [name, code] : cases) EXPECT_EQ(result_of(code, kAll), 0) << name;
}

TEST(Contraction, IsNamedInReports) {
  TestDevice device;
  const Module module = parse_module(
      kPtxHead + ".entry k() { .reg .f32 %f<4>;\nmul.f32 %f1, %f2, %f2;\nadd.f32 %f3, %f1, %f2;\nret; }",
      [](auto&&...) { return 0; }, kAll);
  EXPECT_EQ(module.kernels.at("k")->origins.at(1).text, "add.f32 %f3, %f1, %f2, fused with mul.f32 %f1, %f2, %f2");
}

// Which of 64 equal pairs of a kernel are fused, as characters 0 and 1.
std::string fused_in(const std::string& kernel, const Contraction& contraction) {
  std::string text = kPtxHead + ".entry " + kernel + "() { .reg .f32 %f<4>;\n";
  for (int pair = 0; pair < 64; ++pair) text += "mul.f32 %f1, %f2, %f2; add.f32 %f3, %f1, %f2;\n";
  const Module module = parse_module(
      text + "ret; }", [](auto&&...) { return 0; }, contraction);
  std::string fused;
  for (size_t sum = 1; sum < 128; sum += 2)
    fused += module.kernels.at(kernel)->code.at(sum).operands.size() == 4 ? '1' : '0';
  return fused;
}

TEST(ContractionDraw, DependsOnTheNumberTheKernelAndTheInstructionAlone) {
  const std::string drawn = fused_in("rows", {.draw = 1});
  EXPECT_EQ(drawn, fused_in("rows", {.draw = 1}));
  EXPECT_NE(drawn, fused_in("rows", {.draw = 2}));
  EXPECT_NE(drawn, fused_in("columns", {.draw = 1}));
  const auto fused = std::ranges::count(drawn, '1');
  EXPECT_GT(fused, 16);
  EXPECT_LT(fused, 48);
}

TEST(ContractionDraw, DiffersBetweenInstancesAndNotWithTheFolderOfTheSource) {
  const std::string of_float = "_ZN4weft44_GLOBAL__N__0123abcd_7_norm_cu_89abcdef_12344rowsIfEEvPT_";
  const std::string elsewhere = "_ZN4weft44_GLOBAL__N__fedc4567_7_norm_cu_0246ace1_98764rowsIfEEvPT_";
  const std::string of_double = "_ZN4weft44_GLOBAL__N__0123abcd_7_norm_cu_89abcdef_12344rowsIdEEvPT_";
  EXPECT_EQ(fused_in(of_float, {.draw = 1}), fused_in(elsewhere, {.draw = 1}));
  EXPECT_NE(fused_in(of_float, {.draw = 1}), fused_in(of_double, {.draw = 1}));
}

}  // namespace
}  // namespace weft::cuda_device
