// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/activation.h"
#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

struct GateCase {
  int64_t rows, columns;
  Activation activation = Activation::Silu;
  double dropout = 0;
  friend void PrintTo(const GateCase& c, std::ostream* out) {
    *out << c.rows << "x" << c.columns << " " << enum_name(c.activation) << (c.dropout > 0 ? " dropout" : "");
  }
};

struct GateProblem {
  Context& context;
  GateCase c;
  StepState state;
  Tensor pre, dy;
  Dropout dropout;

  GateProblem(Context& context, const GateCase& c, DType dtype) : context(context), c(c) {
    pre = random(context, {c.rows, 2 * c.columns}, dtype, 1);
    dy = random(context, {c.rows, c.columns}, dtype, 2);
    state.dropout_key = 31;
    dropout = {.probability = c.dropout, .dropout_id = 4, .step = state, .rows = row_ids(context, c.rows)};
    dropout.first_channel = 24;  // a shard begins there
  }
  GateProblem widened() const {
    GateProblem p = *this;
    p.pre = copy_as(context, pre, DType::F64), p.dy = copy_as(context, dy, DType::F64);
    return p;
  }
  Tensor forward() const {
    const Tensor y = context.empty(dy.shape(), dy.dtype());
    gate_forward(context, {.pre = pre, .activation = c.activation, .dropout = dropout, .y = y});
    return y;
  }
  Tensor backward(const Tensor& dpre) const {
    gate_backward(context, {.dy = dy, .pre = pre, .activation = c.activation, .dropout = dropout, .dpre = dpre});
    return dpre;
  }
  Tensor backward() const { return backward(context.empty(pre.shape(), pre.dtype())); }
};

class Gate : public testing::TestWithParam<GateCase> {};

TEST_P(Gate, GradientMatchesFiniteDifferences) {
  OperationContext context;
  const GateProblem p(context, GetParam(), DType::F64);
  EXPECT_TRUE(gradient_matches(p.pre, p.backward(), [&] { return dot(p.forward(), p.dy); }));
}

TEST_P(Gate, AgreesWithF64) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const int threads : {1, 3}) {
      OperationContext context({}, threads);
      const GateProblem p(context, GetParam(), dtype), exact = p.widened();
      EXPECT_TRUE(close(p.forward(), exact.forward(), tolerance(dtype), 1)) << name(dtype);
      EXPECT_TRUE(close(p.backward(), exact.backward(), tolerance(dtype), 1)) << name(dtype);
    }
  }
}

TEST_P(Gate, GradientsMayLieWhereTheFactorsLay) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    OperationContext context({}, 2);
    const GateProblem p(context, GetParam(), dtype);
    const Tensor apart = p.backward();
    EXPECT_TRUE(same_bits(p.backward(p.pre), apart)) << name(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Gate,
                         testing::Values(GateCase{1, 1}, GateCase{7, 33}, GateCase{5, 64, Activation::Gelu},
                                         GateCase{3, 520, Activation::GeluTanh, 0.3},
                                         GateCase{40, 24, Activation::Silu, 0.2}, GateCase{6, 9, Activation::None},
                                         GateCase{129, 129, Activation::Relu}),
                         [](const auto& i) { return printable(testing::PrintToString(i.param)); });

// silu(1) = 0.7310585786300049, silu(-2) = -0.2384058440442351 (torch.nn.functional.silu)
TEST(GateValue, FirstHalfOfARowGatesTheSecond) {
  OperationContext context;
  const Tensor pre = context.empty({1, 4}, DType::F64), y = context.empty({1, 2}, DType::F64);
  std::ranges::copy(std::array{1.0, -2.0, 10.0, 3.0}, pre.data<double>());
  gate_forward(context, {.pre = pre, .activation = Activation::Silu, .y = y});
  EXPECT_NEAR(values(y)[0], 7.310585786300049, 1e-14);
  EXPECT_NEAR(values(y)[1], -0.7152175321327053, 1e-14);
}

TEST(GateChecks, RunsDryAndNamesWhatDoesNotFit) {
  Context meta({DeviceKind::Meta, 0});
  const auto t = [&](Shape shape) { return meta.empty(shape, DType::BF16); };
  gate_forward(meta, {.pre = t({6, 16}), .y = t({6, 8})});
  EXPECT_EQ(meta.ledger().entries().at("gate_forward").bytes, 2 * 6 * (16 + 8));
  gate_backward(meta, {.dy = t({6, 8}), .pre = t({6, 16}), .dpre = t({6, 16})});
  EXPECT_EQ(meta.ledger().entries().at("gate_backward").bytes, 2 * 6 * (16 + 8 + 16));
  EXPECT_EQ(error_of<InternalError>([&] {
              gate_forward(meta, {.pre = t({6, 15}), .y = t({6, 8})});
            }),
            "gate_forward: pre is bf16[6, 15], expected bf16[6, 16]");
  EXPECT_EQ(error_of<InternalError>([&] {
              gate_backward(meta, {.dy = t({6, 8}), .pre = t({6, 16}), .dpre = t({6, 8})});
            }),
            "gate_backward: dpre is bf16[6, 8], expected bf16[6, 16]");
}

}  // namespace
}  // namespace weft
