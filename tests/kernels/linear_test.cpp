// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/linear.h"

#include "kernels/cpu/products/matmul.h"
#include "tests/kernels/fixture/check.h"
#include "tests/kernels/fixture/engine.h"

namespace weft {
namespace {

using namespace test;

struct LinearCase {
  int64_t rows, in, out;
  Activation activation = Activation::None;
  bool bias = true;
  double dropout = 0;
  friend void PrintTo(const LinearCase& c, std::ostream* out) {
    *out << c.rows << "x" << c.in << "x" << c.out << " " << enum_name(c.activation) << (c.bias ? " bias" : "")
         << (c.dropout > 0 ? " dropout" : "");
  }
};

// Inputs of one case in a dtype, all drawn in f64 from the same seeds and rounded: a product with an activation, and a
// second one (weight2) that reads its output, whose backward leads through the activation.
struct LinearProblem {
  Context& context;
  LinearCase c;
  DType dtype;
  StepState state;
  Tensor x, weight, bias, weight2, dz;
  Dropout dropout;

  LinearProblem(Context& context, const LinearCase& c, DType dtype) : context(context), c(c), dtype(dtype) {
    const double scale = 1 / std::sqrt(static_cast<double>(c.in));
    x = random(context, {c.rows, c.in}, dtype, 1);
    weight = random(context, {c.out, c.in}, dtype, 2, scale);
    if (c.bias) bias = random(context, {c.out}, dtype, 3);
    weight2 = random(context, {kOut2, c.out}, dtype, 4, 0.4);
    dz = random(context, {c.rows, kOut2}, dtype, 5);
    state.dropout_key = 77;
    dropout = {.probability = c.dropout, .dropout_id = 5, .step = state, .rows = row_ids(context, c.rows)};
  }
  // The same numbers, in f64.
  LinearProblem widened() const {
    LinearProblem p = *this;
    p.dtype = DType::F64;
    for (Tensor* t : {&p.x, &p.weight, &p.bias, &p.weight2, &p.dz}) {
      if (*t) *t = copy_as(context, *t, DType::F64);
    }
    return p;
  }
  static constexpr int64_t kOut2 = 6;
};

struct LinearResult {
  Tensor y, pre, z, dpre, dx, dweight, dbias, dweight2;
};

LinearResult forward(const LinearProblem& p) {
  LinearResult r{.y = p.context.empty({p.c.rows, p.c.out}, p.dtype)};
  if (p.c.activation != Activation::None) r.pre = p.context.empty(r.y.shape(), p.dtype);
  linear_forward(p.context, {.x = p.x,
                             .weight = p.weight,
                             .bias = p.bias,
                             .activation = p.c.activation,
                             .dropout = p.dropout,
                             .y = r.y,
                             .pre = r.pre});
  r.z = p.context.empty(p.dz.shape(), p.dtype);
  linear_forward(p.context, {.x = r.y, .weight = p.weight2, .y = r.z});
  return r;
}

LinearBackward second_backward(const LinearProblem& p, const LinearResult& r, Accumulate mode) {
  return {.dy = p.dz,
          .x = r.y,
          .weight = p.weight2,
          .dx = {r.dpre, Accumulate::Overwrite},
          .dweight = {r.dweight2, mode},
          .input_activation = p.c.activation,
          .input_pre = r.pre,
          .input_dropout = p.dropout,
          .input_dbias = {r.dbias, mode}};
}

void backward(const LinearProblem& p, LinearResult& r, Accumulate mode = Accumulate::Overwrite) {
  const DType acc_dtype = accumulator_of(p.dtype);
  if (!r.dx) {
    r.dpre = p.context.zeros(r.y.shape(), p.dtype);
    r.dx = p.context.zeros(p.x.shape(), p.dtype);
    r.dweight = p.context.zeros(p.weight.shape(), acc_dtype);
    r.dweight2 = p.context.zeros(p.weight2.shape(), acc_dtype);
    if (p.bias) r.dbias = p.context.zeros(p.bias.shape(), acc_dtype);
  }
  linear_backward(p.context, second_backward(p, r, mode));
  linear_backward(p.context,
                  {.dy = r.dpre, .x = p.x, .weight = p.weight, .dx = {r.dx, mode}, .dweight = {r.dweight, mode}});
}

LinearResult run(const LinearProblem& p) {
  LinearResult r = forward(p);
  backward(p, r);
  return r;
}

std::vector<std::pair<std::string, std::pair<Tensor, Tensor>>> outputs(const LinearResult& a, const LinearResult& b) {
  std::vector<std::pair<std::string, std::pair<Tensor, Tensor>>> all{{"y", {a.y, b.y}},
                                                                     {"dpre", {a.dpre, b.dpre}},
                                                                     {"dx", {a.dx, b.dx}},
                                                                     {"dweight", {a.dweight, b.dweight}},
                                                                     {"dweight2", {a.dweight2, b.dweight2}}};
  if (a.pre) all.push_back({"pre", {a.pre, b.pre}});
  if (a.dbias) all.push_back({"dbias", {a.dbias, b.dbias}});
  return all;
}

class Linear : public testing::TestWithParam<LinearCase> {};

TEST_P(Linear, GradientsMatchFiniteDifferences) {
  OperationContext context;
  const LinearProblem p(context, GetParam(), DType::F64);
  const LinearResult r = run(p);
  const auto loss = [&] { return dot(forward(p).z, p.dz); };
  EXPECT_TRUE(gradient_matches(p.x, r.dx, loss, 60)) << "dx";
  EXPECT_TRUE(gradient_matches(p.weight, r.dweight, loss, 60)) << "dweight";
  EXPECT_TRUE(gradient_matches(p.weight2, r.dweight2, loss, 60)) << "dweight2";
  if (p.bias) {
    EXPECT_TRUE(gradient_matches(p.bias, r.dbias, loss, 60)) << "dbias";
  }
}

TEST_P(Linear, AgreesWithF64) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const bool emulate : emulations()) {
      for (const int threads : {1, 2}) {
        OperationContext context({}, threads);
        if (emulate) engine_of(context).emulate_bf16(true);
        const LinearProblem p(context, GetParam(), dtype);
        const LinearResult r = run(p), exact = run(p.widened());
        for (const auto& [name, pair] : outputs(r, exact)) {
          EXPECT_TRUE(close(pair.first, pair.second, tolerance(dtype)))
              << name << " " << weft::name(dtype) << " threads " << threads << " emulate " << emulate;
        }
      }
    }
  }
}

TEST_P(Linear, IsRepeatable) {
  for (const int threads : {1, 2}) {
    OperationContext first({}, threads), second({}, threads);
    const LinearProblem p(first, GetParam(), DType::F32), q(second, GetParam(), DType::F32);
    for (const auto& [name, pair] : outputs(run(p), run(q))) EXPECT_TRUE(same_bits(pair.first, pair.second)) << name;
  }
}

TEST_P(Linear, AddingTwiceIsTwiceTheGradient) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    OperationContext context({}, 2);
    const LinearProblem p(context, GetParam(), dtype);
    const LinearResult once = run(p);
    LinearResult twice = forward(p);
    backward(p, twice, Accumulate::Overwrite);
    backward(p, twice, Accumulate::Add);
    for (const auto& [name, pair] : outputs(twice, once)) {
      if (name[0] != 'd' || name == "dpre") continue;
      add_scaled(context, copy(context, pair.second), 1, pair.second);
      // An f32 sum that starts from the accumulated value may round its last bit differently.
      const double allowed = dtype == DType::BF16 ? (name == "dx" ? 1e-2 : 1e-5) : dtype == DType::F32 ? 1e-6 : 1e-14;
      EXPECT_TRUE(close(pair.first, pair.second, allowed)) << name << " " << weft::name(dtype);
    }
  }
}

TEST_P(Linear, GivesTheSameBitsWithoutPre) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    OperationContext context;
    const LinearProblem p(context, GetParam(), dtype);
    const Tensor y = context.empty({p.c.rows, p.c.out}, dtype);
    linear_forward(
        context,
        {.x = p.x, .weight = p.weight, .bias = p.bias, .activation = p.c.activation, .dropout = p.dropout, .y = y});
    EXPECT_TRUE(same_bits(y, forward(p).y)) << name(dtype);
  }
}

TEST_P(Linear, ActivateIsWhatForwardDoesWithItsProduct) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    OperationContext context({}, 2);
    const LinearProblem p(context, GetParam(), dtype);
    const Tensor y = context.empty({p.c.rows, p.c.out}, dtype);
    linear_forward(context, {.x = p.x, .weight = p.weight, .bias = p.bias, .y = y});
    activate(context, {.pre = y, .activation = p.c.activation, .dropout = p.dropout, .y = y});
    EXPECT_TRUE(same_bits(y, forward(p).y)) << name(dtype);
  }
}

// The contribution of another reader of x goes through the producer's slope and mask as dy W does.
TEST_P(Linear, AProducersGradientIncludesWhatDxHeld) {
  OperationContext context;
  const LinearProblem p(context, GetParam(), DType::F64);
  LinearResult whole = run(p), halves = forward(p);
  backward(p, halves);
  LinearProblem half = p;
  half.dz = copy(context, p.dz);
  add_scaled(context, copy(context, p.dz), -0.5, half.dz);
  matmul(context, {.a = half.dz, .b = p.weight2, .c = halves.dpre});
  LinearBackward back = second_backward(half, halves, Accumulate::Overwrite);
  back.dx.mode = Accumulate::Add;
  linear_backward(context, back);
  EXPECT_TRUE(close(halves.dpre, whole.dpre, 1e-12));
  if (p.bias) {
    EXPECT_TRUE(close(halves.dbias, whole.dbias, 1e-12));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Linear,
                         testing::Values(LinearCase{1, 1, 1}, LinearCase{7, 7, 7, Activation::Relu},
                                         LinearCase{129, 33, 17, Activation::Gelu},
                                         LinearCase{17, 129, 7, Activation::GeluTanh},
                                         LinearCase{7, 17, 129, Activation::Gelu, false},
                                         LinearCase{33, 24, 40, Activation::GeluTanh, true, 0.25},
                                         LinearCase{33, 24, 40, Activation::Relu, true, 0.5},
                                         LinearCase{13, 8, 16, Activation::None, true, 0.1},
                                         LinearCase{129, 129, 129, Activation::None, false}),
                         [](const auto& info) { return printable(testing::PrintToString(info.param)); });

TEST(LinearEdges, NoRowsGiveNoGradient) {
  OperationContext context;
  const LinearProblem p(context, {.rows = 0, .in = 3, .out = 2, .activation = Activation::Relu}, DType::F32);
  LinearResult r = forward(p);
  backward(p, r);
  EXPECT_EQ(values(r.dweight), std::vector<double>(6, 0.0));
  EXPECT_EQ(values(r.dbias), std::vector<double>(2, 0.0));
}

TEST(LinearEdges, DropoutKeepsScalesAndFollowsTheKey) {
  OperationContext context;
  LinearProblem p(context, {.rows = 64, .in = 1, .out = 64, .bias = false, .dropout = 0.25}, DType::F32);
  fill(context, p.x, 1), fill(context, p.weight, 1);
  const Tensor y = forward(p).y;
  int64_t dropped = 0;
  for (const double v : values(y)) {
    ASSERT_TRUE(v == 0 || std::abs(v - 4.0 / 3) < 1e-6) << v;
    dropped += v == 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 4096, 0.25, 0.03);
  p.dropout.step.dropout_key = 78;
  EXPECT_FALSE(same_bits(y, forward(p).y));
}

// Numbers of rows for each way the engine runs a product: few, whole blocks, ragged, many.
TEST(LinearEdges, EveryNumberOfRowsAgreesWithF64) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const int64_t rows : {1, 16, 64, 65, 128, 1000, 2048, 2050, 2112}) {
      OperationContext context({}, 2);
      const LinearProblem p(context, {.rows = rows, .in = 40, .out = 72}, dtype);
      const LinearResult r = run(p), exact = run(p.widened());
      for (const auto& [name, pair] : outputs(r, exact)) {
        EXPECT_TRUE(close(pair.first, pair.second, tolerance(dtype))) << name << " " << rows << weft::name(dtype);
      }
    }
  }
}

// In bf16 the activation and its dropout are rounded once: to the bf16 nearest to their exact value for `pre`.
TEST(LinearEdges, ActivationAndDropoutRoundOnce) {
  OperationContext context;
  const LinearProblem p(context, {.rows = 65, .in = 40, .out = 300, .activation = Activation::Gelu, .dropout = 0.3},
                        DType::BF16);
  const LinearResult r = forward(p);
  const std::vector<double> pre = values(r.pre), y = values(r.y);
  int64_t kept = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 0) continue;
    const double exact = pre[i] / 2 * (1 + std::erf(pre[i] / std::sqrt(2.0))) * p.dropout.scale();
    EXPECT_NEAR(y[i], exact, one_rounding(exact)) << i;
    ++kept;
  }
  EXPECT_GT(kept, 65 * 150);
}

// The backward pass rounds slope and dropout once too; the bias gradient sums the unrounded values. An identity
// weight shows the incoming gradient.
TEST(LinearEdges, TheGradientBeforeTheActivationRoundsOnce) {
  OperationContext context;
  const int64_t n = 40;
  LinearProblem p(context, {.rows = 65, .in = 40, .out = n, .activation = Activation::Gelu, .dropout = 0.3},
                  DType::BF16);
  p.weight2 = context.zeros({n, n}, DType::BF16);
  for (int64_t i = 0; i < n; ++i) p.weight2.data<BFloat16>()[i * n + i] = BFloat16(1.0f);
  p.dz = random(context, {65, n}, DType::BF16, 6);
  const LinearResult r = run(p);
  const std::vector<double> pre = values(r.pre), d = values(r.dpre), dz = values(p.dz), sums = values(r.dbias);
  std::vector<double> column(static_cast<size_t>(n));
  for (size_t i = 0; i < d.size(); ++i) {
    if (d[i] == 0) continue;
    const double below = (1 + std::erf(pre[i] / std::sqrt(2.0))) / 2;
    const double density = std::exp(-pre[i] * pre[i] / 2) / std::sqrt(2 * 3.14159265358979324);
    const double exact = dz[i] * (below + pre[i] * density) * p.dropout.scale();
    EXPECT_NEAR(d[i], exact, one_rounding(exact)) << i;
    column[i % n] += exact;
  }
  for (size_t c = 0; c < column.size(); ++c) EXPECT_NEAR(sums[c], column[c], 1e-4) << c;
}

// Without activation, dropout or bias before it, dx is the gradient of x.
TEST(LinearEdges, AnInputThatNoProductMadeHasAPlainGradient) {
  OperationContext context;
  const LinearProblem p(context, {.rows = 9, .in = 5, .out = 4}, DType::F64);
  LinearResult r = run(p);
  const Tensor dx = context.empty(r.dpre.shape(), DType::F64);
  linear_backward(context, {.dy = p.dz, .x = r.y, .weight = p.weight2, .dx = {dx, Accumulate::Overwrite}});
  EXPECT_TRUE(same_bits(dx, r.dpre));
  std::vector<double> sums(4);
  const std::vector<double> d = values(dx);
  for (size_t i = 0; i < d.size(); ++i) sums[i % 4] += d[i];
  for (size_t c = 0; c < sums.size(); ++c) EXPECT_NEAR(values(r.dbias)[c], sums[c], 1e-13);
}

// A plain product keeps values that bf16 cannot hold, in every way the engine runs it.
TEST(LinearEdges, APlainProductMayStayUnrounded) {
  for (const bool emulate : emulations()) {
    for (const int64_t rows : {1, 16, 64, 65, 128, 2112}) {
      for (const int64_t out : {7, 72}) {
        OperationContext context({}, 2);
        if (emulate) engine_of(context).emulate_bf16(true);
        const LinearProblem p(context, {.rows = rows, .in = 40, .out = out}, DType::BF16);
        const Tensor exact = forward(p.widened()).y, y = context.empty(exact.shape(), DType::F32);
        for (const PackedWeight& packed : {PackedWeight(), pack_weight(context, p.weight)}) {
          fill(context, y, 0);
          linear_forward(context, {.x = p.x, .weight = p.weight, .packed = packed, .bias = p.bias, .y = y});
          EXPECT_TRUE(close(y, exact, 1e-6)) << rows << " " << out << (packed ? " packed" : "");
        }
      }
    }
  }
  OperationContext context;
  const Tensor x = context.zeros({3, 4}, DType::BF16), w = context.zeros({5, 4}, DType::BF16);
  const LinearForward wide{.x = x, .weight = w, .activation = Activation::Relu, .y = context.zeros({3, 5}, DType::F32)};
  EXPECT_EQ(error_of([&] { linear_forward(context, wide); }), "linear_forward: y is f32[3, 5], expected bf16[3, 5]");
}

TEST(LinearEdges, LeadingDimsOfTheWeightAreFlattened) {
  OperationContext context;
  const LinearProblem p(context, {.rows = 3, .in = 4, .out = 12}, DType::F32);
  const Tensor y = context.empty({3, 12}, DType::F32);
  linear_forward(context, {.x = p.x, .weight = p.weight.view({2, 3, 2, 4}), .bias = p.bias.view({2, 6}), .y = y});
  EXPECT_TRUE(same_bits(y, forward(p).y));
}

TEST(LinearEdges, MisfitsAreNamed) {
  OperationContext context;
  const Tensor x = context.zeros({3, 4}, DType::F32), w = context.zeros({5, 4}, DType::F32);
  const Tensor y = context.zeros({3, 5}, DType::F32), b = context.zeros({4}, DType::F32);
  EXPECT_EQ(error_of([&] { linear_forward(context, {.x = x, .weight = w, .y = x}); }),
            "linear_forward: y is f32[3, 4], expected f32[3, 5]");
  EXPECT_EQ(error_of([&] { linear_forward(context, {.x = x, .weight = w, .bias = b, .y = y}); }),
            "linear_forward: bias is f32[4], expected 5 elements of f32");
  EXPECT_EQ(error_of([&] { linear_forward(context, {.x = x, .weight = y, .y = y}); }),
            "linear_forward: weight is f32[3, 5], expected f32[3, 4]");
  EXPECT_EQ(error_of([&] { linear_forward(context, {.x = x, .weight = w}); }), "linear_forward: y is absent");
  EXPECT_EQ(error_of([&] { linear_forward(context, {.x = x, .weight = w, .dropout = {.probability = 0.1}, .y = y}); }),
            "linear_forward: dropout sequence is absent");
  EXPECT_EQ(
      error_of([&] {
        linear_backward(
            context,
            {.dy = y, .x = x, .weight = w, .dx = {x, Accumulate::Overwrite}, .input_activation = Activation::Gelu});
      }),
      "linear_backward: input_pre is absent");
  EXPECT_EQ(error_of([&] {
              linear_backward(context, {.dy = y, .x = x, .weight = w, .input_dbias = {b, Accumulate::Add}});
            }),
            "linear_backward: input_activation, input_dropout and input_dbias need a dx");
  EXPECT_EQ(error_of([&] { activate(context, {.pre = x, .y = y}); }), "activate: y is f32[3, 5], expected f32[3, 4]");
  Context dry(Device{DeviceKind::Meta});
  EXPECT_EQ(error_of([&] { linear_forward(dry, {.x = x, .weight = w, .y = y}); }),
            "linear_forward: x f32[3, 4] lies on another device");
}

TEST(LinearEdges, TheDryDeviceCountsAndTouchesNothing) {
  Context dry(Device{DeviceKind::Meta});
  const Tensor x = dry.empty({1000, 4000}, DType::BF16), w = dry.empty({8000, 4000}, DType::BF16);
  const Tensor y = dry.empty({1000, 8000}, DType::BF16);
  linear_forward(dry, {.x = x, .weight = w, .y = y});
  EXPECT_EQ(dry.ledger().total().flops, 2.0 * 1000 * 4000 * 8000);
  EXPECT_EQ(dry.ledger().total().bytes, 2.0 * (1000.0 * 4000 + 8000.0 * 4000 + 1000.0 * 8000));
  linear_backward(dry, {.dy = y,
                        .x = x,
                        .weight = w,
                        .dx = {x, Accumulate::Overwrite},
                        .dweight = {dry.empty({8000, 4000}, DType::F32), Accumulate::Add}});
  EXPECT_EQ(dry.ledger().total().flops, 6.0 * 1000 * 4000 * 8000);
  EXPECT_EQ(dry.ledger().entries().at("linear_backward").calls, 1);
}

}  // namespace
}  // namespace weft
