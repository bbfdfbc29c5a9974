#include "kernels/matmul.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Matmul, MultipliesByHand) {
  Context context;
  const Tensor a = context.empty({2, 3}, DType::F32), b = context.empty({3, 2}, DType::F32);
  const Tensor c = context.empty({2, 2}, DType::F32);
  std::ranges::copy(std::array{1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, a.data<float>());
  std::ranges::copy(std::array{1.f, 0.f, 0.f, 1.f, 1.f, 1.f}, b.data<float>());
  matmul(context, {.a = a, .b = b, .c = c});
  EXPECT_EQ(std::vector(c.span<float>().begin(), c.span<float>().end()), (std::vector{4.f, 5.f, 10.f, 11.f}));
  matmul(context, {.a = a, .b = b, .c = c, .mode = Accumulate::Add});
  EXPECT_EQ(std::vector(c.span<float>().begin(), c.span<float>().end()), (std::vector{8.f, 10.f, 20.f, 22.f}));
}

}  // namespace
}  // namespace weft
