// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor.h"

#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

using test::error_of;

// A gradient without a mode does not compile.
static_assert(std::is_constructible_v<Gradient, Tensor, Accumulate>);
static_assert(!std::is_constructible_v<Gradient, Tensor>);
static_assert(!std::is_convertible_v<Tensor, Gradient>);
static_assert(!std::is_aggregate_v<Gradient>);

TEST(DTypes, SizesAndNames) {
  EXPECT_EQ(size_of(DType::F32), 4U);
  EXPECT_EQ(size_of(DType::BF16), 2U);
  EXPECT_EQ(size_of(DType::F64), 8U);
  EXPECT_EQ(size_of(DType::I32), 4U);
  EXPECT_EQ(size_of(DType::I64), 8U);
  EXPECT_EQ(name(DType::BF16), "bf16");
  EXPECT_EQ(accumulator_of(DType::BF16), DType::F32);
  EXPECT_EQ(accumulator_of(DType::F64), DType::F64);
  EXPECT_EQ(error_of([] { with_float_type(DType::I32, []<class T>() {}); }), "a floating dtype is needed here");
}

TEST(Shapes, CountAndPrint) {
  const Shape s{2, 3, 4};
  EXPECT_EQ(s.rank(), 3);
  EXPECT_EQ(s.elements(), 24);
  EXPECT_EQ(s[-1], 4);
  EXPECT_EQ(s.text(), "[2, 3, 4]");
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{0, 5}.elements()), 0);
  EXPECT_TRUE((Shape{2, 3} == Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3} == Shape{3, 2}));
  EXPECT_FALSE((Shape{2} == Shape{2, 1}));
  EXPECT_EQ(error_of([] { Shape{2, -1}; }), "negative dimension in shape [2, -1]");
  EXPECT_EQ(error_of([] { Shape{1, 1, 1, 1, 1, 1, 1}; }), "a tensor has at most 6 dims, got 7");
}

TEST(Tensors, ViewsShareTheData) {
  Context context;
  const Tensor t = context.empty({4, 3}, DType::F32);
  for (int i = 0; i < 12; ++i) t.data<float>()[i] = static_cast<float>(i);
  EXPECT_EQ(t.text(), "f32[4, 3]");
  const Tensor rows = t.slice(1, 3);
  EXPECT_EQ(rows.text(), "f32[2, 3]");
  EXPECT_EQ(rows.data<float>()[0], 3);
  rows.data<float>()[0] = 30;
  EXPECT_EQ(t.view({12}).data<float>()[3], 30);
  EXPECT_EQ(t.flat(5, {2, 2}).data<float>()[3], 8);
  EXPECT_EQ(t.slice(4, 4).elements(), 0);
  EXPECT_EQ(t.view({2, 2, 3}).slice(1, 2).data<float>()[0], 6);
  EXPECT_EQ(t.view({2, 2, 3}).rows(), 4);
  EXPECT_EQ(t.view({2, 2, 3}).columns(), 3);
}

TEST(Tensors, MisusesAreNamed) {
  Context context;
  const Tensor t = context.empty({4, 3}, DType::F32);
  EXPECT_EQ(error_of([&] { t.view({5}); }), "view of f32[4, 3] as [5]");
  EXPECT_EQ(error_of([&] { t.slice(2, 5); }), "slice 2..5 of f32[4, 3]");
  EXPECT_EQ(error_of([&] { t.slice(3, 2); }), "slice 3..2 of f32[4, 3]");
  EXPECT_EQ(error_of([&] { t.flat(10, {3}); }), "flat 10 + [3] of f32[4, 3]");
  EXPECT_EQ(error_of([&] { t.data<int32_t>(); }), "tensor f32[4, 3] read as i32");
  EXPECT_EQ(error_of([&] {
              Tensor(t.storage(), 4, {4, 3}, DType::F32);
            }),
            "view f32[4, 3] at byte 4 leaves its storage of 48 bytes");
  EXPECT_EQ(error_of([] { Tensor{}.view({1}); }), "view of (absent) as [1]");
  EXPECT_EQ(error_of([] { Tensor{}.flat(0, {1}); }), "flat 0 + [1] of (absent)");
  EXPECT_EQ(error_of([] { Tensor{}.slice(0, 0); }), "slice 0..0 of (absent)");
  EXPECT_EQ(error_of([] { Tensor{}.raw(); }),
            "tensor (absent) is not in the host's memory: download it before reading it");
  Context dry(Device{DeviceKind::Meta});
  EXPECT_EQ(error_of([&] { dry.empty({2}, DType::F32).data<float>(); }),
            "tensor f32[2] is not in the host's memory: download it before reading it");
  EXPECT_FALSE(Tensor{});
  EXPECT_EQ(Tensor{}.text(), "(absent)");
}

TEST(Tensors, StorageLivesAsLongAsAView) {
  Tensor last;
  {
    Context context;
    last = test::constant(context, {100, 10}, DType::F32, 7).slice(99, 100);
  }
  EXPECT_EQ(last.data<float>()[9], 7);
}

}  // namespace
}  // namespace weft
