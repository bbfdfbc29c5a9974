// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/matmul.h"

#include <array>
#include <thread>

#include "kernels/cpu/products/matmul.h"
#include "kernels/ops/linear.h"
#include "tests/kernels/fixture/check.h"
#include "tests/kernels/fixture/engine.h"

namespace weft {
namespace {

using namespace test;

TEST(Matmul, MultipliesByHand) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    OperationContext context;
    const Tensor a = context.empty({2, 3}, DType::F32), b = context.empty({3, 2}, DType::F32);
    std::ranges::copy(std::array{1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, a.data<float>());
    std::ranges::copy(std::array{1.f, 0.f, 0.f, 1.f, 1.f, 1.f}, b.data<float>());
    const Tensor c = context.empty({2, 2}, dtype);
    Matmul args{.a = copy_as(context, a, dtype), .b = copy_as(context, b, dtype), .c = c};
    matmul(context, args);
    EXPECT_EQ(values(c), (std::vector<double>{4, 5, 10, 11}));
    args.mode = Accumulate::Add;
    matmul(context, args);
    EXPECT_EQ(values(c), (std::vector<double>{8, 10, 20, 22}));
  }
}

struct Types {
  DType input, output;
  bool emulate = false;
};

// Every layout, mode, size and dtype against f64.
TEST(Matmul, AgreesWithF64) {
  const std::vector<Types> types{{DType::F32, DType::F32},
                                 {DType::BF16, DType::BF16},
                                 {DType::BF16, DType::F32},
                                 {DType::BF16, DType::BF16, true},
                                 {DType::BF16, DType::F32, true}};
  OperationContext one({}, 1), two({}, 2);
  for (Context* context : {&one, &two}) {
    for (const Types& t : types) {
      if (t.emulate && operations_on_cuda()) continue;
      if (t.emulate) engine_of(*context).emulate_bf16(true);
      for (const auto& [m, n, k] :
           {std::array{1, 1, 1}, {7, 129, 1}, {1, 7, 129}, {129, 7, 129}, {129, 1, 7}, {33, 65, 128}}) {
        for (int layout = 0; layout < 8; ++layout) {
          const bool ta = layout & 1, tb = layout & 2, add = layout & 4;
          const Shape sa = ta ? Shape{k, m} : Shape{m, k}, sb = tb ? Shape{n, k} : Shape{k, n};
          const Tensor a = random(*context, sa, t.input, 1), b = random(*context, sb, t.input, 2);
          const Tensor c = random(*context, {m, n}, t.output, 3);
          const Tensor exact = copy_as(*context, c, DType::F64);
          const Accumulate mode = add ? Accumulate::Add : Accumulate::Overwrite;
          matmul(*context, {.a = copy_as(*context, a, DType::F64),
                            .b = copy_as(*context, b, DType::F64),
                            .c = exact,
                            .transpose_a = ta,
                            .transpose_b = tb,
                            .mode = mode});
          matmul(*context, {.a = a, .b = b, .c = c, .transpose_a = ta, .transpose_b = tb, .mode = mode});
          // bf16 inputs are exact in f32: only a bf16 result is rounded to bf16.
          ASSERT_TRUE(close(c, exact, tolerance(t.output)))
              << name(t.input) << " to " << name(t.output) << " " << m << "x" << n << "x" << k << " layout " << layout;
        }
      }
    }
  }
}

// Shapes at which a generated product of oneDNN 2.6 ends the program on processors with AMX, on one thread.
TEST(Matmul, SumsOver63Elements) {
  for (const int threads : {1, 2}) {
    OperationContext context({}, threads);
    for (const auto& [m, n] : {std::pair{72, 24}, {37, 84}, {80, 63}, {336, 30}, {268, 24}}) {
      for (const DType output : {DType::BF16, DType::F32}) {
        const Tensor a = random(context, {63, m}, DType::BF16, 1), b = random(context, {63, n}, DType::BF16, 2);
        const Tensor c = context.empty({m, n}, output), exact = context.empty({m, n}, DType::F64);
        matmul(context, {.a = a, .b = b, .c = c, .transpose_a = true});
        matmul(context, {.a = copy_as(context, a, DType::F64),
                         .b = copy_as(context, b, DType::F64),
                         .c = exact,
                         .transpose_a = true});
        EXPECT_TRUE(close(c, exact, tolerance(output))) << m << " x " << n << " " << name(output);
      }
      const Tensor x = random(context, {m, 63}, DType::BF16, 3), weight = random(context, {n, 63}, DType::BF16, 4);
      const Tensor plain = context.empty({m, n}, DType::BF16), packed = context.empty({m, n}, DType::BF16);
      linear_forward(context, {.x = x, .weight = weight, .y = plain});
      linear_forward(context, {.x = x, .weight = weight, .packed = pack_weight(context, weight), .y = packed});
      EXPECT_TRUE(close(packed, plain, tolerance(DType::BF16))) << m << " x " << n;
    }
  }
}

TEST(Matmul, BFloat16SumsInF32) {
  OperationContext context;
  for (const bool emulate : emulations()) {
    if (emulate) engine_of(context).emulate_bf16(true);
    // 1 + 4095 * 2^-9: summed in bf16 the small terms would vanish one by one.
    const Tensor a = constant(context, {1, 4096}, DType::BF16, 0x1p-9),
                 b = constant(context, {4096, 1}, DType::BF16, 1);
    a.data<BFloat16>()[0] = BFloat16(1);
    const Tensor c = context.empty({1, 1}, DType::F32);
    matmul(context, {.a = a, .b = b, .c = c});
    EXPECT_EQ(c.data<float>()[0], 1 + 4095 * 0x1p-9f);
  }
}

TEST(Matmul, KeepsNonFiniteNumbers) {
  OperationContext context;
  const Tensor a = constant(context, {8, 8}, DType::F32, 1), b = constant(context, {8, 8}, DType::F32, 1);
  const Tensor c = context.empty({8, 8}, DType::F32);
  a.data<float>()[0] = std::nanf("");
  matmul(context, {.a = a, .b = b, .c = c});
  for (int i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(c.data<float>()[i]), i < 8);
}

TEST(Matmul, ThreadsWithTheirOwnContextsDoNotDisturbEachOther) {
  const auto work = [](std::vector<Tensor>* results) {
    OperationContext context({}, 1);
    for (int round = 0; round < 20; ++round) {
      for (const int64_t rows : {1, 5, 33, 64}) {
        const Tensor a = random(context, {rows, 48}, DType::F32, 1), b = random(context, {48, 40}, DType::F32, 2);
        const Tensor c = context.empty({rows, 40}, DType::F32);
        matmul(context, {.a = a, .b = b, .c = c});
        matmul(context, {.a = a, .b = c, .c = context.empty({48, 40}, DType::F32), .transpose_a = true});
        if (round == 19) results->push_back(c);
      }
    }
  };
  std::vector<Tensor> alone, first, second;
  work(&alone);
  std::thread one(work, &first), two(work, &second);
  one.join();
  two.join();
  ASSERT_EQ(alone.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(same_bits(alone[i], first[i]));
    EXPECT_TRUE(same_bits(alone[i], second[i]));
  }
}

TEST(HostOnly, PrimitivesAreReusedAndBounded) {
  OperationContext context;
  const auto run = [&](int64_t rows) {
    const Tensor a = random(context, {rows, 8}, DType::F32, 1), c = context.empty({rows, 8}, DType::F32);
    matmul(context, {.a = a, .b = constant(context, {8, 8}, DType::F32, 1), .c = c});
    return c;
  };
  engine_of(context).limit_cache(4);
  const Tensor before = run(1);
  run(1);
  EXPECT_EQ(engine_of(context).cached(), 1U);
  for (int64_t rows = 2; rows < 10; ++rows) run(rows);
  EXPECT_EQ(engine_of(context).cached(), 4U);
  EXPECT_TRUE(same_bits(run(1), before));
}

TEST(Matmul, NothingToSumIsZero) {
  OperationContext context;
  const Tensor c = constant(context, {2, 3}, DType::F32, 5);
  const Tensor a = context.empty({0, 2}, DType::F32), b = context.empty({0, 3}, DType::F32);
  matmul(context, {.a = a, .b = b, .c = c, .transpose_a = true, .mode = Accumulate::Add});
  EXPECT_EQ(values(c), std::vector<double>(6, 5.0));
  matmul(context, {.a = a, .b = b, .c = c, .transpose_a = true});
  EXPECT_EQ(values(c), std::vector<double>(6, 0.0));
}

TEST(Matmul, MisfitsAreNamed) {
  OperationContext context;
  const Tensor a = context.zeros({2, 3}, DType::F32), b = context.zeros({4, 5}, DType::F32);
  const Tensor c = context.zeros({2, 5}, DType::F32);
  EXPECT_EQ(error_of([&] { matmul(context, {.a = a, .b = b, .c = c}); }),
            "matmul: f32[2, 3] times f32[4, 5] into f32[2, 5]");
  EXPECT_EQ(error_of([&] { matmul(context, {.a = a, .b = b, .c = c, .transpose_a = true}); }),
            "matmul: f32[2, 3]^T times f32[4, 5] into f32[2, 5]");
  const Tensor b16 = context.zeros({3, 5}, DType::BF16);
  EXPECT_EQ(error_of([&] { matmul(context, {.a = a, .b = b16, .c = c}); }),
            "matmul: dtypes of f32[2, 3] times bf16[3, 5] into f32[2, 5]");
  EXPECT_EQ(error_of([&] { matmul(context, {.a = a, .b = b}); }), "matmul: c is absent");
}

TEST(Matmul, NamesItsLibrary) {
  EXPECT_EQ(cpu::MatmulEngine::library().rfind("oneDNN ", 0), 0U) << cpu::MatmulEngine::library();
}

}  // namespace
}  // namespace weft
