// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "kernels/ops/linear.h"
#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

// Numbers from -1 to 1, by a generator that is fast enough for millions of them.
Tensor spread(Context& context, const Shape& shape, DType dtype, uint32_t draw) {
  const Tensor t = context.empty(shape, DType::F32);
  for (float& v : t.span<float>()) {
    draw = draw * 1664525u + 1013904223u;
    v = static_cast<float>(draw >> 8) * 0x1p-23f - 1;
  }
  return dtype == DType::F32 ? t : copy_as(context, t, dtype);
}

// The dtype of the rows and of the weight, and the format of the packed weight.
struct Kind {
  DType dtype;
  WeightFormat format;
};
constexpr Kind kKinds[] = {{DType::F32, WeightFormat::F32},  {DType::F32, WeightFormat::Bf16},
                           {DType::F32, WeightFormat::Int8}, {DType::BF16, WeightFormat::F32},
                           {DType::BF16, WeightFormat::Own}, {DType::BF16, WeightFormat::Int8},
                           {DType::F64, WeightFormat::Own}};

std::string name_of(const Kind& kind) { return fmt::format("{} rows, {}", name(kind.dtype), enum_name(kind.format)); }

struct PackedLinearProblem {
  Tensor x, weight, bias;
  PackedLinearProblem(Context& context, int64_t rows, int64_t in, int64_t out, DType dtype)
      : x(spread(context, {rows, in}, dtype, 1)),
        weight(spread(context, {out, in}, dtype, 2)),
        bias(spread(context, {out}, dtype, 3)) {}
  Tensor product(Context& context, const PackedWeight& packed, int64_t begin, int64_t end,
                 Activation activation = Activation::None) const {
    const Tensor y = context.empty({end - begin, weight.size(0)}, x.dtype());
    linear_forward(
        context,
        {.x = x.slice(begin, end), .weight = weight, .packed = packed, .bias = bias, .activation = activation, .y = y});
    return y;
  }
};

// Single rows, several rows, and rows across the blocks that a panel is multiplied with; one thread, several, and
// more threads than panels.
void expect_independent_rows(int64_t rows, int64_t in, int64_t out, const Kind& kind,
                             const std::vector<int64_t>& counts) {
  OperationContext one;
  const PackedLinearProblem p(one, rows, in, out, kind.dtype);
  const PackedWeight packed = pack_weight(one, p.weight, kind.format);
  const Tensor all = p.product(one, packed, 0, rows);
  for (const int threads : operations_on_cuda() ? std::vector{1} : std::vector{1, 2, 4}) {
    OperationContext context({}, threads);
    for (const int64_t n : counts) {
      for (const int64_t begin : {int64_t{0}, rows - n}) {
        ASSERT_TRUE(same_bits(p.product(context, packed, begin, begin + n), all.slice(begin, begin + n)))
            << name_of(kind) << " " << in << " to " << out << ", rows " << begin << " + " << n << ", threads "
            << threads;
      }
    }
  }
}

TEST(PackedLinear, ARowDoesNotDependOnTheRowsBesideItNorOnThreads) {
  for (const Kind& kind : kKinds) {
    expect_independent_rows(13, 33, 65, kind, {1, 2, 5, 6, 7, 12, 13});
    expect_independent_rows(9, 1, 1, kind, {1, 4, 9});
    if (operations_on_cuda()) {  // a simulated device is slow
      expect_independent_rows(19, 768, 12, kind, {1, 8, 11, 19});
      expect_independent_rows(9, 3072, 8, kind, {1, 9});
    } else {
      expect_independent_rows(290, 768, 200, kind, {1, 5, 8, 40, 64, 290});
      expect_independent_rows(70, 3072, 768, kind, {1, 3, 64, 70});
    }
  }
}

TEST(PackedLinear, ARowOfLogitsDoesNotDependOnTheRowsBesideIt) {
  for (const Kind& kind : kKinds) {
    if (kind.dtype == DType::F32 || kind.format == WeightFormat::Own) {
      expect_independent_rows(9, operations_on_cuda() ? 16 : 768, 50257, kind, {1, 8});
    }
  }
}

TEST(PackedLinear, PackingDoesNotDependOnThreads) {
  for (const Kind& kind : kKinds) {
    OperationContext one, four({}, 4);
    const Tensor weight = spread(one, {300, 65}, kind.dtype, 2);
    const Tensor data = pack_weight(one, weight, kind.format)->data;
    EXPECT_TRUE(same_bits(pack_weight(four, weight, kind.format)->data, data)) << name_of(kind);
  }
}

// |y - exact| of a sum of n terms in f32: n roundings of at most 2^-24 of the sum of magnitudes, one more for the bias;
// in bf16 one of 2^-8 x half of the result.
TEST(PackedLinear, AgreesWithF64) {
  for (const Kind& kind : kKinds) {
    for (const auto& [rows, in, out] : {std::array<int64_t, 3>{1, 7, 3}, {11, 65, 130}, {20, 3072, 70}}) {
      OperationContext context({}, 2);
      const PackedLinearProblem p(context, rows, in, out, kind.dtype);
      const Tensor y = p.product(context, pack_weight(context, p.weight, kind.format), 0, rows);
      const bool rounded = kind.format == WeightFormat::Bf16;
      const std::vector<double> x = values(p.x), bias = values(p.bias), found = values(y);
      const std::vector<double> w = values(rounded ? copy_as(context, p.weight, DType::BF16) : p.weight);
      for (int64_t o = 0; o < out; ++o) {
        double scale = 0;
        for (int64_t i = 0; i < in; ++i) scale = std::max(scale, std::abs(w[o * in + i]) / 127);
        for (int64_t r = 0; r < rows; ++r) {
          double sum = bias[o], size = std::abs(sum), magnitude = 0;
          for (int64_t i = 0; i < in; ++i) {
            sum += x[r * in + i] * w[o * in + i];
            size += std::abs(x[r * in + i] * w[o * in + i]), magnitude += std::abs(x[r * in + i]);
          }
          double bound = static_cast<double>(in + 2) * size * (kind.dtype == DType::F64 ? 0x1p-53 : 0x1p-24);
          if (kind.format == WeightFormat::Int8) bound = 1.001 * (bound + magnitude * scale / 2);
          if (kind.dtype == DType::BF16) bound += std::abs(sum) * 0x1p-8;
          ASSERT_LE(std::abs(found[r * out + o] - sum), bound) << name_of(kind) << " " << in << " row " << r;
        }
      }
    }
  }
}

// Whole numbers up to 127 are exact in every format, and an output of zeros stays zero.
TEST(PackedLinear, SmallWholeNumbersAreExact) {
  OperationContext context;
  PackedLinearProblem p(context, 6, 40, 70, DType::F32);
  for (int64_t o = 0; o < 70; ++o) {
    for (int64_t i = 0; i < 40; ++i) {
      p.weight.data<float>()[o * 40 + i] = o == 9 ? 0 : static_cast<float>((o * 31 + i * 7) % 255 - 127);
    }
    if (o != 9) p.weight.data<float>()[o * 40 + 5] = -127;
  }
  const Tensor exact = p.product(context, pack_weight(context, p.weight), 0, 6);
  for (const WeightFormat format : {WeightFormat::Bf16, WeightFormat::Int8}) {
    const Tensor y = p.product(context, pack_weight(context, p.weight, format), 0, 6);
    // A GPU sums in the order of a format's pieces of 16 bytes.
    EXPECT_TRUE(operations_on_cuda() ? close(y, exact, 1e-6) : same_bits(y, exact));
  }
  for (int64_t r = 0; r < 6; ++r) EXPECT_EQ(exact.data<float>()[r * 70 + 9], p.bias.data<float>()[9]);
}

TEST(PackedLinear, NonFiniteValuesStayInTheirRow) {
  for (const WeightFormat format : {WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8}) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
      for (const int64_t column : {3, 5, 19}) {  // of the first 16 bytes of a row, of the next, and of the last ones
        OperationContext context;
        const PackedLinearProblem p(context, 8, 20, 70, DType::F32);
        p.weight.data<float>()[66 * 20 + column] = bad;
        p.x.data<float>()[2 * 20 + 1] = std::nanf("");
        const Tensor y = p.product(context, pack_weight(context, p.weight, format), 0, 8);
        for (int64_t i = 0; i < 8 * 70; ++i) {
          EXPECT_EQ(std::isfinite(y.data<float>()[i]), i / 70 != 2 && i % 70 != 66) << i << enum_name(format);
        }
      }
    }
  }
}

// In bf16 the activation reads a rounded number, as without packing.
TEST(PackedLinear, ActivatesWhatItWouldHaveWritten) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    for (const Activation activation : {Activation::Relu, Activation::Gelu, Activation::GeluTanh}) {
      OperationContext context;
      PackedLinearProblem p(context, 9, 24, 130, dtype);
      const PackedWeight packed = pack_weight(context, p.weight);
      const Tensor plain = p.product(context, packed, 0, 9), activated = p.product(context, packed, 0, 9, activation);
      const Tensor ones = context.zeros({130, 130}, dtype), expected = context.empty({9, 130}, dtype);
      with_float_type(dtype, [&]<class T>() {
        for (int64_t i = 0; i < 130; ++i) ones.data<T>()[i * 131] = T(1.0f);
      });
      linear_forward(context, {.x = plain, .weight = ones, .activation = activation, .y = expected});
      EXPECT_TRUE(close(activated, expected, dtype == DType::F64 ? 1e-12 : 1e-6)) << name(dtype);
      EXPECT_FALSE(same_bits(activated, plain));
    }
  }
}

TEST(PackedLinear, APackIsACopyThatOutlivesItsContext) {
  OperationContext context;
  const PackedLinearProblem p(context, 5, 33, 65, DType::F32);
  const Tensor expected = p.product(context, pack_weight(context, p.weight), 0, 5);
  PackedWeight packed;
  {
    OperationContext other({}, 2);
    packed = pack_weight(other, p.weight);
  }
  fill(context, p.weight, 0);
  EXPECT_TRUE(same_bits(p.product(context, packed, 0, 5), expected));
}

TEST(HostOnly, TheDryDevicePlansWhatADeviceTakes) {
  Context context, dry(Device{DeviceKind::Meta});  // with a pool, whose rounded blocks are planned
  for (const WeightFormat format : {WeightFormat::Own, WeightFormat::Bf16, WeightFormat::Int8}) {
    const PackedWeight real = pack_weight(context, context.zeros({130, 8}, DType::F32), format);
    const PackedWeight planned = pack_weight(dry, dry.empty({130, 8}, DType::F32), format);
    EXPECT_EQ(planned->data.bytes(), real->data.bytes());
    EXPECT_GE(real->data.bytes(), 130u * 8 * (format == WeightFormat::Int8 ? 1 : format == WeightFormat::Bf16 ? 2 : 4));
  }
  EXPECT_EQ(dry.ledger().entries().at("pack_weight").bytes, context.ledger().entries().at("pack_weight").bytes);
  EXPECT_EQ(dry.memory().use().peak, context.memory().use().peak);
}

TEST(PackedLinear, MisfitsAreNamed) {
  OperationContext context;
  const PackedLinearProblem p(context, 3, 4, 5, DType::F32);
  const Tensor y = context.empty({3, 5}, DType::F32);
  const PackedWeight other = pack_weight(context, context.zeros({5, 6}, DType::F32));
  EXPECT_EQ(error_of([&] { linear_forward(context, {.x = p.x, .weight = p.weight, .packed = other, .y = y}); }),
            "linear_forward: packed is [5, 6], weight f32[5, 4]");
  const PackedWeight wide = pack_weight(context, context.zeros({5, 4}, DType::F64));
  EXPECT_EQ(error_of([&] { linear_forward(context, {.x = p.x, .weight = p.weight, .packed = wide, .y = y}); }),
            "linear_forward: packed as own, x f32[3, 4]");
  EXPECT_EQ(error_of([&] {
              pack_weight(context, context.zeros({5, 4}, DType::F64), WeightFormat::Int8);
            }),
            "pack_weight: f64[5, 4] cannot be packed as int8");
  const PackedWeight packed = pack_weight(context, p.weight);
  EXPECT_EQ(
      error_of([&] { linear_forward(context, {.x = p.x, .weight = p.weight, .packed = packed, .y = y, .pre = y}); }),
      "linear_forward: packed excludes dropout and pre");
}

}  // namespace
}  // namespace weft
