// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/residual_norm.h"

#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

struct NormCase {
  int64_t rows, width;
  bool residual = true, bias = true, norm = true, beta = true;
  double dropout = 0;
  NormKind kind = NormKind::Layer;
  friend void PrintTo(const NormCase& c, std::ostream* out) {
    const char* norm = c.kind == NormKind::Layer ? " norm" : " rms";
    *out << c.rows << "x" << c.width << (c.residual ? " residual" : "") << (c.bias ? " bias" : "")
         << (c.norm ? norm : "") << (c.norm && c.beta ? " beta" : "") << (c.dropout > 0 ? " dropout" : "");
  }
  bool plain() const { return !residual && !bias && dropout == 0; }
};

struct NormProblem {
  Context& context;
  NormCase c;
  DType dtype;
  StepState state;
  Tensor x, bias, residual, gamma, beta, dsum, dnormed;
  Dropout dropout;

  NormProblem(Context& context, const NormCase& c, DType dtype) : context(context), c(c), dtype(dtype) {
    const Shape shape{c.rows, c.width};
    x = random(context, shape, dtype, 1);
    if (c.bias) bias = random(context, {c.width}, dtype, 2);
    if (c.residual) residual = random(context, shape, dtype, 3);
    if (c.norm) gamma = random(context, {c.width}, dtype, 4);
    if (c.norm && c.beta) beta = random(context, {c.width}, dtype, 5);
    if (!c.plain()) dsum = random(context, shape, dtype, 6);
    if (c.norm) dnormed = random(context, shape, dtype, 7);
    state.dropout_key = 99;
    dropout = {.probability = c.dropout, .dropout_id = 6, .step = state, .rows = row_ids(context, c.rows)};
  }
  NormProblem widened() const {
    NormProblem p = *this;
    p.dtype = DType::F64;
    for (Tensor* t : {&p.x, &p.bias, &p.residual, &p.gamma, &p.beta, &p.dsum, &p.dnormed}) {
      if (*t) *t = copy_as(context, *t, DType::F64);
    }
    return p;
  }
};

struct NormResult {
  Tensor sum, normed, mean, rstd, dx, dresidual, dbias, dgamma, dbeta;
  std::vector<std::pair<std::string, Tensor>> named() const {
    std::vector<std::pair<std::string, Tensor>> all;
    const std::array<std::pair<const char*, Tensor>, 9> parts{{{"sum", sum},
                                                               {"normed", normed},
                                                               {"mean", mean},
                                                               {"rstd", rstd},
                                                               {"dx", dx},
                                                               {"dresidual", dresidual},
                                                               {"dbias", dbias},
                                                               {"dgamma", dgamma},
                                                               {"dbeta", dbeta}}};
    for (const auto& [name, t] : parts) {
      if (t) all.emplace_back(name, t);
    }
    return all;
  }
};

NormResult forward(const NormProblem& p) {
  const DType acc_dtype = accumulator_of(p.dtype);
  NormResult r;
  if (!p.c.plain()) r.sum = p.context.empty(p.x.shape(), p.dtype);
  if (p.c.norm) {
    r.normed = p.context.empty(p.x.shape(), p.dtype);
    if (p.c.kind == NormKind::Layer) r.mean = p.context.empty({p.c.rows}, acc_dtype);
    r.rstd = p.context.empty({p.c.rows}, acc_dtype);
  }
  residual_norm_forward(p.context, {.x = p.x,
                                    .bias = p.bias,
                                    .dropout = p.dropout,
                                    .residual = p.residual,
                                    .gamma = p.gamma,
                                    .beta = p.beta,
                                    .kind = p.c.kind,
                                    .epsilon = 1e-4,
                                    .sum = r.sum,
                                    .normed = r.normed,
                                    .mean = r.mean,
                                    .rstd = r.rstd});
  return r;
}

ResidualNormBackward backward_args(const NormProblem& p, const NormResult& r, Accumulate mode) {
  return {.dsum = p.dsum,
          .dnormed = p.dnormed,
          .sum = r.sum ? r.sum : p.x,
          .gamma = p.gamma,
          .mean = r.mean,
          .rstd = r.rstd,
          .kind = p.c.kind,
          .dropout = p.dropout,
          .dx = {r.dx, mode},
          .dresidual = {r.dresidual, mode},
          .dbias = {r.dbias, mode},
          .dgamma = {r.dgamma, mode},
          .dbeta = {r.dbeta, mode}};
}

void backward(const NormProblem& p, NormResult& r, Accumulate mode = Accumulate::Overwrite) {
  const DType acc_dtype = accumulator_of(p.dtype);
  if (!r.dx) {
    r.dx = random(p.context, p.x.shape(), p.dtype, 50);
    if (p.residual) r.dresidual = random(p.context, p.x.shape(), p.dtype, 51);
    if (p.bias) r.dbias = random(p.context, p.bias.shape(), acc_dtype, 52);
    if (p.gamma) r.dgamma = random(p.context, p.gamma.shape(), acc_dtype, 53);
    if (p.beta) r.dbeta = random(p.context, p.beta.shape(), acc_dtype, 54);
  }
  residual_norm_backward(p.context, backward_args(p, r, mode));
}

NormResult run(const NormProblem& p) {
  NormResult r = forward(p);
  backward(p, r);
  return r;
}

class ResidualNorm : public testing::TestWithParam<NormCase> {};

TEST_P(ResidualNorm, GradientsMatchFiniteDifferences) {
  OperationContext context;
  const NormProblem p(context, GetParam(), DType::F64);
  const NormResult r = run(p);
  const auto loss = [&] {
    const NormResult f = forward(p);
    return (p.dsum ? dot(f.sum, p.dsum) : 0) + (p.dnormed ? dot(f.normed, p.dnormed) : 0);
  };
  const int64_t places = p.c.width > 1000 ? 8 : 40;  // each computes the loss twice
  EXPECT_TRUE(gradient_matches(p.x, r.dx, loss, places)) << "dx";
  if (p.residual) {
    EXPECT_TRUE(gradient_matches(p.residual, r.dresidual, loss, places)) << "dresidual";
  }
  if (p.bias) {
    EXPECT_TRUE(gradient_matches(p.bias, r.dbias, loss, places)) << "dbias";
  }
  if (p.gamma) {
    EXPECT_TRUE(gradient_matches(p.gamma, r.dgamma, loss, places)) << "dgamma";
  }
  if (p.beta) {
    EXPECT_TRUE(gradient_matches(p.beta, r.dbeta, loss, places)) << "dbeta";
  }
}

TEST_P(ResidualNorm, AgreesWithF64) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const int threads : {1, 3}) {
      OperationContext context({}, threads);
      const NormProblem p(context, GetParam(), dtype);
      const auto actual = run(p).named(), exact = run(p.widened()).named();
      for (size_t i = 0; i < actual.size(); ++i) {
        // A width of 1 has variance 0: rstd is large, and every gradient through the norm cancels to 0.
        const double floor = GetParam().width == 1 ? 100 : 1;
        EXPECT_TRUE(close(actual[i].second, exact[i].second, tolerance(dtype), floor))
            << actual[i].first << " " << name(dtype) << " threads " << threads;
      }
    }
  }
}

// A sum over ranks has the accumulator dtype: f32 for bf16.
TEST_P(ResidualNorm, TakesAnUnroundedSum) {
  if (GetParam().plain()) return;  // a plain norm's x is what backward reads
  OperationContext context({}, 2);
  NormProblem p(context, GetParam(), DType::BF16);
  p.x = random(context, p.x.shape(), DType::F32, 1);
  const NormResult r = run(p), exact = run(p.widened());
  const auto a = r.named(), e = exact.named();
  const double floor = GetParam().width == 1 ? 100 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(close(a[i].second, e[i].second, tolerance(DType::BF16), floor)) << a[i].first;
  }
  EXPECT_EQ(r.dx.dtype(), DType::BF16);
  // The sum is rounded once, to the nearest bf16.
  const std::vector<double> sum = values(r.sum), nearest = values(exact.sum);
  for (size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(sum[i], nearest[i], one_rounding(nearest[i])) << i;
  }
}

TEST_P(ResidualNorm, DoesNotDependOnThreads) {
  OperationContext first({}, 1), second({}, 4);
  const NormProblem p(first, GetParam(), DType::F32), q(second, GetParam(), DType::F32);
  const auto a = run(p).named(), b = run(q).named();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
}

TEST_P(ResidualNorm, AddingTwiceIsTwiceTheGradient) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    OperationContext context({}, 2);
    const NormProblem p(context, GetParam(), dtype);
    const NormResult once = run(p);
    NormResult twice = forward(p);
    backward(p, twice, Accumulate::Overwrite);
    backward(p, twice, Accumulate::Add);
    const auto a = twice.named(), b = once.named();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].first[0] != 'd') continue;
      std::vector<double> doubled = values(b[i].second);
      for (double& v : doubled) v *= 2;
      EXPECT_EQ(values(a[i].second), doubled) << a[i].first << " " << name(dtype);
    }
  }
}

std::vector<NormCase> cases() {
  std::vector<NormCase> all;
  for (const auto& [rows, width] :
       {std::pair<int64_t, int64_t>{1, 1}, {7, 7}, {129, 129}, {40, 64}, {5, 768}, {20, 3601}, {33, 3616}}) {
    all.push_back({.rows = rows, .width = width});
    all.push_back({.rows = rows, .width = width, .dropout = 0.3});
    all.push_back({.rows = rows, .width = width, .beta = false, .kind = NormKind::Rms});
    all.push_back({.rows = rows, .width = width, .residual = false, .bias = false, .kind = NormKind::Rms});
  }
  for (int bits = 0; bits < 32; ++bits) {
    const NormCase c{9, 33, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, bits & 16 ? 0.2 : 0};
    if (c.norm || (!c.plain() && !c.beta)) all.push_back(c);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, ResidualNorm, testing::ValuesIn(cases()),
                         [](const auto& i) { return printable(testing::PrintToString(i.param)); });

TEST(ResidualNormValue, NormalisesByHand) {
  OperationContext context;
  const Tensor x = context.empty({1, 4}, DType::F64), normed = context.empty({1, 4}, DType::F64);
  std::ranges::copy(std::array{1.0, 2.0, 3.0, 6.0}, x.data<double>());
  const Tensor gamma = constant(context, {4}, DType::F64, 2), beta = constant(context, {4}, DType::F64, 1);
  const Tensor mean = context.empty({1}, DType::F64), rstd = context.empty({1}, DType::F64);
  residual_norm_forward(context, {.x = x,
                                  .gamma = gamma,
                                  .beta = beta,
                                  .epsilon = 0.5,  // variance (4 + 1 + 0 + 9) / 4 = 3.5
                                  .normed = normed,
                                  .mean = mean,
                                  .rstd = rstd});
  EXPECT_EQ(values(normed), (std::vector<double>{-1, 0, 1, 4}));
  EXPECT_EQ(values(mean), std::vector<double>{3});
  EXPECT_EQ(values(rstd), std::vector<double>{0.5});
}

TEST(ResidualNormValue, RmsNormalisesByHand) {
  OperationContext context;
  const Tensor x = context.empty({1, 4}, DType::F64), normed = context.empty({1, 4}, DType::F64);
  std::ranges::copy(std::array{1.0, 2.0, -3.0, 4.0}, x.data<double>());
  const Tensor gamma = constant(context, {4}, DType::F64, 3), rstd = context.empty({1}, DType::F64);
  residual_norm_forward(context, {.x = x,
                                  .gamma = gamma,
                                  .kind = NormKind::Rms,
                                  .epsilon = 1.5,  // mean square (1 + 4 + 9 + 16) / 4 = 7.5
                                  .normed = normed,
                                  .rstd = rstd});
  EXPECT_EQ(values(normed), (std::vector<double>{1, 2, -3, 4}));
  EXPECT_EQ(values(rstd), std::vector<double>{1.0 / 3});
}

TEST(ResidualNormValue, TwoPassesSurviveALargeMean) {
  OperationContext context;
  const Tensor exact = random(context, {3, 200}, DType::F64, 1);
  for (double& v : exact.span<double>()) v = 4096 + std::round(v * 64) / 64;  // exact in f32
  const Tensor x = copy_as(context, exact, DType::F32), normed = context.empty(x.shape(), DType::F32);
  const Tensor gamma = constant(context, {200}, DType::F32, 1);
  const Tensor mean = context.empty({3}, DType::F32), rstd = context.empty({3}, DType::F32);
  residual_norm_forward(context, {.x = x, .gamma = gamma, .normed = normed, .mean = mean, .rstd = rstd});
  for (int64_t r = 0; r < 3; ++r) {
    double m = 0, v = 0;
    for (int64_t c = 0; c < 200; ++c) m += exact.data<double>()[r * 200 + c] / 200;
    for (int64_t c = 0; c < 200; ++c) v += std::pow(exact.data<double>()[r * 200 + c] - m, 2) / 200;
    EXPECT_NEAR(rstd.data<float>()[r] * std::sqrt(v + 1e-5), 1, 1e-5);
  }
}

TEST(ResidualNormValue, ResidualGradientMayLieWhereTheSumsGradientLies) {
  OperationContext context;
  const NormProblem p(context, {.rows = 129, .width = 33, .dropout = 0.1}, DType::F32);
  const NormResult apart = run(p);
  NormResult r = forward(p);
  r.dx = context.empty(p.x.shape(), DType::F32);
  r.dresidual = copy(context, p.dsum);
  ResidualNormBackward args = backward_args(p, r, Accumulate::Overwrite);
  args.dsum = r.dresidual;
  residual_norm_backward(context, args);
  EXPECT_TRUE(same_bits(r.dresidual, apart.dresidual));
  EXPECT_TRUE(same_bits(r.dx, apart.dx));
}

TEST(ResidualNormValue, NotANumberIsSeen) {
  OperationContext context;
  const NormProblem p(context, {4, 33}, DType::F32);
  p.x.data<float>()[40] = std::numeric_limits<float>::quiet_NaN();
  const NormResult r = run(p);
  EXPECT_FALSE(std::isnan(values(r.normed)[0]));
  EXPECT_TRUE(std::isnan(values(r.normed)[33]));
  EXPECT_TRUE(std::isnan(values(r.dgamma)[0]));
}

TEST(ResidualNormChecks, RunsDryOnMetaAndNamesWhatDoesNotFit) {
  Context meta({DeviceKind::Meta, 0});
  const auto t = [&](Shape shape, DType dtype = DType::F32) { return meta.empty(shape, dtype); };
  const ResidualNormForward good{.x = t({6, 8}),
                                 .bias = t({8}),
                                 .residual = t({6, 8}),
                                 .gamma = t({8}),
                                 .sum = t({6, 8}),
                                 .normed = t({6, 8}),
                                 .mean = t({6}),
                                 .rstd = t({6})};
  residual_norm_forward(meta, good);
  const Ledger::Entry entry = meta.ledger().entries().at("residual_norm_forward");
  EXPECT_EQ(entry.calls, 1);
  EXPECT_EQ(entry.bytes, 4 * (4 * 48 + 2 * 8 + 2 * 6));
  EXPECT_GT(entry.flops, 0);
  ResidualNormForward rms = good;
  rms.kind = NormKind::Rms, rms.mean = {};
  residual_norm_forward(meta, rms);
  EXPECT_EQ(meta.ledger().entries().at("residual_norm_forward").bytes - entry.bytes, entry.bytes - 4 * 6);

  const auto message = [&](auto&& change) -> std::string {
    ResidualNormForward args = good;
    change(args);
    try {
      residual_norm_forward(meta, args);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message([](auto& a) { a.x = {}; }), "residual_norm_forward: x is absent");
  EXPECT_EQ(message([&](auto& a) { a.bias = t({7}); }),
            "residual_norm_forward: bias is f32[7], expected 8 elements of f32");
  EXPECT_EQ(message([&](auto& a) {
              a.residual = t({6, 8}, DType::BF16);
            }),
            "residual_norm_forward: residual is bf16[6, 8], expected f32[6, 8]");
  EXPECT_EQ(message([](auto& a) { a.sum = {}; }),
            "residual_norm_forward: sum is absent, which a plain norm alone allows (bias f32[8], residual f32[6, 8], "
            "dropout 0)");
  EXPECT_EQ(message([](auto& a) { a.gamma = {}; }), "residual_norm_forward: gamma is absent");
  EXPECT_EQ(message([&](auto& a) {
              a.x = t({6, 8}, DType::BF16);
            }),
            "residual_norm_forward: x bf16[6, 8] for a sum f32[6, 8]");
  EXPECT_EQ(message([](auto& a) { a.kind = NormKind::Rms; }),
            "residual_norm_forward: mean f32[6] for a norm that subtracts none");
  EXPECT_EQ(message([](auto& a) { a.mean = {}; }), "residual_norm_forward: mean is absent");
  EXPECT_EQ(message([](auto& a) { a.dropout.probability = 0.1; }), "residual_norm_forward: dropout sequence is absent");

  EXPECT_THROW(residual_norm_backward(meta, {}), InternalError);
  EXPECT_THROW(residual_norm_backward(meta, {.dsum = t({6, 8}), .dgamma = {t({8}), Accumulate::Add}}), InternalError);
  residual_norm_backward(meta, {.dsum = t({6, 8}), .dx = {t({6, 8}), Accumulate::Overwrite}});
  EXPECT_EQ(meta.ledger().entries().at("residual_norm_backward").bytes, 4 * 2 * 48);
}

}  // namespace
}  // namespace weft
