// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/optimizer.h"

#include <limits>

#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

struct Buffers {
  Tensor p, g, m, v;
  Buffers(Context& context, int64_t n, DType dtype)
      : p(random(context, {n}, dtype, 1)),
        g(random(context, {n}, dtype, 2)),
        m(random(context, {n}, dtype, 3, 0.1)),
        v(random(context, {n}, dtype, 4, 0.1)) {
    with_float_type(dtype, [&]<class T>() {
      for (T& x : v.span<T>()) x = T(std::abs(static_cast<double>(static_cast<Accumulator<T>>(x))));
    });
  }
};

StepState step_state() {
  return {.learning_rate = 0.01,
          .bias_correction1 = 1 - std::pow(0.9, 4),
          .bias_correction2 = 1 - std::pow(0.95, 4),
          .clip = 0.5};
}

// One decay and one rate for all elements.
SharedUpdateSpans all(Context& context, double decay, double rate = 1) {
  return share_update_spans(context, {0}, {decay}, {rate});
}

AdamUpdate adam(Context& context, const Buffers& b, const StepState& state, bool coupled) {
  return {.parameter = b.p,
          .gradient = b.g,
          .moment1 = b.m,
          .moment2 = b.v,
          .spans = all(context, 0.1),
          .beta1 = 0.9,
          .beta2 = 0.95,
          .epsilon = 1e-8,
          .coupled = coupled,
          .step = state};
}

TEST(Adam, IsTheFormula) {
  OperationContext context;
  const StepState s = step_state();
  for (const int64_t n : {1, 7, 129}) {
    for (const bool coupled : {false, true}) {
      const Buffers b(context, n, DType::F64);
      const std::vector<double> p = values(b.p), g = values(b.g), m = values(b.m), v = values(b.v);
      adam_update(context, adam(context, b, s, coupled));
      for (int64_t i = 0; i < n; ++i) {
        const double grad = g[i] * 0.5 + (coupled ? 0.1 * p[i] : 0);
        const double m1 = 0.9 * m[i] + 0.1 * grad, v1 = 0.95 * v[i] + 0.05 * grad * grad;
        const double direction = m1 / s.bias_correction1 / (std::sqrt(v1 / s.bias_correction2) + 1e-8);
        EXPECT_NEAR(b.p.data<double>()[i], p[i] - 0.01 * (direction + (coupled ? 0 : 0.1 * p[i])), 1e-12);
        EXPECT_NEAR(b.m.data<double>()[i], m1, 1e-12);
        EXPECT_NEAR(b.v.data<double>()[i], v1, 1e-12);
      }
    }
  }
}

TEST(Sgd, IsTheFormula) {
  OperationContext context;
  const StepState s = step_state();
  for (const int64_t n : {1, 7, 129}) {
    const Buffers b(context, n, DType::F64);
    const std::vector<double> p = values(b.p), g = values(b.g), m = values(b.m);
    sgd_update(
        context,
        {.parameter = b.p, .gradient = b.g, .buffer = b.m, .spans = all(context, 0.1), .momentum = 0.9, .step = s});
    for (int64_t i = 0; i < n; ++i) {
      const double buffer = 0.9 * m[i] + 0.5 * g[i] + 0.1 * p[i];
      EXPECT_NEAR(b.m.data<double>()[i], buffer, 1e-12);
      EXPECT_NEAR(b.p.data<double>()[i], p[i] - 0.01 * buffer, 1e-12);
    }
  }
}

TEST(Optimizer, F32AgreesWithF64OnAnyThreads) {
  constexpr int64_t kMany = 100003;  // work for several threads, and no multiple of a vector
  const StepState s = step_state();
  OperationContext one({}, 1), two({}, 2);
  const Buffers a(one, kMany, DType::F32), b(two, kMany, DType::F32), exact(one, kMany, DType::F64);
  adam_update(one, adam(one, a, s, false));
  adam_update(two, adam(two, b, s, false));
  adam_update(one, adam(one, exact, s, false));
  EXPECT_TRUE(same_bits(a.p, b.p));
  EXPECT_TRUE(same_bits(a.v, b.v));
  EXPECT_TRUE(close(a.p, exact.p, 1e-6));
  EXPECT_TRUE(close(a.m, exact.m, 1e-6));
  EXPECT_TRUE(close(a.v, exact.v, 1e-6));
}

// One call over several decays and rates equals a call for each span, and writes the rounded copy.
TEST(Optimizer, SpansHaveTheirOwnDecayAndRateAndTheComputeCopyFollows) {
  constexpr int64_t kMany = 50001;
  const StepState s = step_state();
  const std::vector<int64_t> begins{0, 1, 20000, 20000, 49999};
  const std::vector<double> decays{0.3, 0, 0.7, 0.1, 0.2}, rates{1, 0.5, 1, 0, 3};
  for (const int threads : {1, 2, 3}) {
    for (const bool sgd : {false, true}) {
      OperationContext context({}, threads);
      const Buffers whole(context, kMany, DType::F32), parts(context, kMany, DType::F32);
      const Tensor compute = constant(context, {kMany}, DType::BF16, 7);
      const auto update = [&](const Buffers& b, int64_t begin, int64_t end, const SharedUpdateSpans& spans,
                              Tensor copy) {
        const auto cut = [&](const Tensor& t) { return t.slice(begin, end); };
        if (sgd) {
          sgd_update(context, {cut(b.p), cut(b.g), cut(b.m), copy, spans, 0.9, s});
        } else {
          adam_update(context, {cut(b.p), cut(b.g), cut(b.m), cut(b.v), copy, spans, 0.9, 0.95, 1e-8, false, s});
        }
      };
      update(whole, 0, kMany, share_update_spans(context, begins, decays, rates), compute);
      for (size_t i = 0; i < begins.size(); ++i) {
        const int64_t end = i + 1 < begins.size() ? begins[i + 1] : kMany;
        update(parts, begins[i], end, all(context, decays[i], rates[i]), {});
      }
      EXPECT_TRUE(same_bits(whole.p, parts.p));
      EXPECT_TRUE(same_bits(whole.m, parts.m));
      EXPECT_TRUE(same_bits(whole.v, parts.v));
      const auto still = [&](const Tensor& p) { return p.slice(20000, 49999); };  // the rate of this span is 0
      EXPECT_TRUE(same_bits(still(whole.p), still(Buffers(context, kMany, DType::F32).p)));
      EXPECT_TRUE(same_bits(compute, copy_as(context, whole.p, DType::BF16)));
    }
  }
}

// Unaligned buffers give the same bits as aligned ones.
TEST(Optimizer, DoesNotDependOnWhereBuffersBegin) {
  constexpr int64_t kMany = 5003;
  OperationContext context;
  const StepState s = step_state();
  const Buffers whole(context, kMany, DType::F32);
  const auto cut = [](const Tensor& t) { return t.slice(3, kMany); };
  const auto moved = [&](const Tensor& t) { return copy(context, cut(t)); };
  const Tensor copies = context.empty({kMany}, DType::BF16), copy_of_moved = context.empty({kMany - 3}, DType::BF16);
  AdamUpdate at_odds = adam(context, whole, s, false), at_ease = at_odds;
  at_ease.parameter = moved(whole.p), at_ease.gradient = moved(whole.g), at_ease.moment1 = moved(whole.m);
  at_ease.moment2 = moved(whole.v), at_ease.compute = copy_of_moved;
  at_odds.parameter = cut(whole.p), at_odds.gradient = cut(whole.g), at_odds.moment1 = cut(whole.m);
  at_odds.moment2 = cut(whole.v), at_odds.compute = cut(copies);
  adam_update(context, at_odds);
  adam_update(context, at_ease);
  EXPECT_TRUE(same_bits(at_odds.parameter, at_ease.parameter));
  EXPECT_TRUE(same_bits(at_odds.moment2, at_ease.moment2));
  EXPECT_TRUE(same_bits(at_odds.compute, at_ease.compute));
}

TEST(Optimizer, ASkippedStepChangesNothing) {
  OperationContext context;
  StepState s = step_state();
  s.skip = true;
  const Buffers b(context, 129, DType::F32), before(context, 129, DType::F32);
  fill(context, b.g, std::nan(""));
  adam_update(context, adam(context, b, s, false));
  sgd_update(context, {.parameter = b.p, .gradient = b.g, .buffer = b.m, .spans = all(context, 0), .step = s});
  EXPECT_TRUE(same_bits(b.p, before.p));
  EXPECT_TRUE(same_bits(b.m, before.m));
  EXPECT_TRUE(same_bits(b.v, before.v));
}

TEST(SquareSum, DoesNotDependOnThreadsAndKeepsNonFinite) {
  OperationContext one({}, 1), two({}, 2);
  for (const int64_t n : {0, 1, 7, 129, 200003}) {
    const Tensor x = random(one, {n}, DType::F32, 5), out = one.empty({1}, DType::F64),
                 other = two.empty({1}, DType::F64);
    square_sum(one, {.parts = {&x, 1}, .out = out});
    square_sum(two, {.parts = {&x, 1}, .out = other});
    EXPECT_TRUE(same_bits(out, other));
    double expected = 0;
    for (const double v : values(x)) expected += v * v;
    EXPECT_NEAR(*out.data<double>(), expected, 1e-12 * expected);
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      if (n == 0) continue;
      x.data<float>()[n / 2] = static_cast<float>(bad);
      square_sum(two, {.parts = {&x, 1}, .out = other});
      EXPECT_FALSE(std::isfinite(*other.data<double>()));
    }
  }
}

TEST(SquareSum, CountsAllPartsAndAddsWhereAsked) {
  OperationContext context({}, 2);
  const std::array<Tensor, 3> parts = {random(context, {40000}, DType::F32, 1), context.empty({0}, DType::F32),
                                       random(context, {3}, DType::F64, 2)};
  const Tensor out = context.zeros({1}, DType::F64);
  square_sum(context, {.parts = parts, .out = out, .mode = Accumulate::Add});
  double expected = 0;
  for (const Tensor& part : parts) {
    for (const double v : values(part)) expected += v * v;
  }
  EXPECT_NEAR(*out.data<double>(), expected, 1e-12 * expected);
  square_sum(context, {.parts = parts, .out = out, .mode = Accumulate::Add});
  EXPECT_NEAR(*out.data<double>(), 2 * expected, 1e-12 * expected);
  square_sum(context, {.parts = {}, .out = out});
  EXPECT_EQ(*out.data<double>(), 0);
}

// More parts than one launch on a device takes, of alternating dtypes and at any offset.
TEST(SquareSum, TakesAnyNumberOfParts) {
  OperationContext context;
  const Tensor flat = random(context, {20000}, DType::F32, 1), rounded = random(context, {20000}, DType::BF16, 2);
  std::vector<Tensor> parts;
  double expected = 0;
  for (int64_t i = 0; i < 200; ++i) {
    parts.push_back((i / 70 == 1 ? rounded : flat).slice(3 * i, 3 * i + 97 * i));
    for (const double v : values(parts.back())) expected += v * v;
  }
  const Tensor out = context.empty({1}, DType::F64);
  square_sum(context, {.parts = parts, .out = out});
  EXPECT_NEAR(*out.data<double>(), expected, 1e-12 * expected);
}

TEST(SquareSum, DoesNotOverflowInF32) {
  OperationContext context;
  const Tensor out = context.empty({1}, DType::F64);
  const Tensor x = constant(context, {4}, DType::F32, 1e30);
  square_sum(context, {.parts = {&x, 1}, .out = out});
  EXPECT_NEAR(*out.data<double>(), 4e60, 1e55);
}

TEST(Optimizer, MisfitsAreNamedAndDryRunsCount) {
  OperationContext context, dry(Device{DeviceKind::Meta});
  const StepState s;
  const Buffers b(context, 4, DType::F32);
  AdamUpdate args = adam(context, b, s, false);
  args.moment2 = context.zeros({5}, DType::F32);
  EXPECT_EQ(error_of([&] { adam_update(context, args); }),
            "adam_update: moment2 is f32[5], expected 4 elements of f32");
  args.parameter = context.zeros({4}, DType::BF16);
  EXPECT_EQ(error_of([&] { adam_update(context, args); }), "adam_update: parameter bf16[4] is neither f32 nor f64");
  const Tensor t = dry.empty({1000}, DType::F32);
  EXPECT_EQ(error_of([&] { sgd_update(dry, {.parameter = t, .gradient = t, .buffer = t, .step = s}); }),
            "sgd_update: no spans for parameter f32[1000]");
  EXPECT_EQ(
      error_of([&] {
        sgd_update(
            dry,
            {.parameter = t, .gradient = t, .buffer = t, .spans = share_update_spans(dry, {0, 1001}, {0, 1}, {1, 1})});
      }),
      "sgd_update: a span begins at 1001 of f32[1000]");
  EXPECT_EQ(error_of([&] { share_update_spans(dry, {1}, {0}, {1}); }), "1 spans of 1 weight decays and 1 rates");
  const SharedUpdateSpans spans = all(dry, 0);
  sgd_update(dry, {.parameter = t, .gradient = t, .buffer = t, .spans = spans, .step = s});
  EXPECT_EQ(dry.ledger().entries().at("sgd_update").bytes, 5.0 * 4000);
  sgd_update(dry, {.parameter = t,
                   .gradient = t,
                   .buffer = t,
                   .compute = dry.empty({1000}, DType::BF16),
                   .spans = spans,
                   .step = s});
  EXPECT_EQ(dry.ledger().entries().at("sgd_update").bytes, 10.0 * 4000 + 2000);
}

}  // namespace
}  // namespace weft
