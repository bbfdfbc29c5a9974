// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/cross_entropy.h"

#include <limits>

#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

struct Stats {
  Tensor max, sum, target, total;
};

Stats stats(Context& context, const Tensor& logits, const Tensor& targets, int64_t valid, int64_t first = 0) {
  const Shape rows{logits.size(0)};
  const DType dtype = logits.dtype();
  Stats s{context.empty(rows, dtype), context.empty(rows, dtype), context.empty(rows, dtype),
          context.empty(rows, dtype)};
  cross_entropy_stats(context, {.logits = logits,
                                .targets = targets,
                                .first_column = first,
                                .valid_columns = valid,
                                .row_max = s.max,
                                .row_sum = s.sum,
                                .row_target = s.target,
                                .row_total = s.total});
  return s;
}

// What a loss has besides -log p(target).
struct Terms {
  double smoothing = 0, z_loss = 0;
};

Tensor losses(Context& context, const Stats& s, const Tensor& targets, const Terms& terms, int64_t vocabulary) {
  const Tensor loss = context.empty(s.max.shape(), s.max.dtype());
  cross_entropy_loss(context, {.targets = targets,
                               .row_max = s.max,
                               .row_sum = s.sum,
                               .row_target = s.target,
                               .row_total = s.total,
                               .smoothing = terms.smoothing,
                               .z_loss = terms.z_loss,
                               .vocabulary = vocabulary,
                               .loss = loss});
  return loss;
}

struct CrossEntropyCase {
  int64_t rows, columns, valid;
  Terms terms;
  friend void PrintTo(const CrossEntropyCase& c, std::ostream* out) {
    *out << c.rows << "x" << c.columns << " valid " << c.valid << " smoothing " << c.terms.smoothing;
    if (c.terms.z_loss > 0) *out << " z loss " << c.terms.z_loss;
  }
};

struct CrossEntropyProblem {
  Tensor logits, targets;
};

// Row 1, if there is one, is ignored (target -1).
CrossEntropyProblem problem(Context& context, const CrossEntropyCase& c, DType dtype) {
  std::vector<int32_t> targets;
  for (int64_t r = 0; r < c.rows; ++r) targets.push_back(r == 1 ? -1 : static_cast<int32_t>((r * 31 + 5) % c.valid));
  return {random(context, {c.rows, c.columns}, dtype, 9, 3), integers(context, targets)};
}

Tensor gradient(Context& context, const CrossEntropyCase& c, const CrossEntropyProblem& p, const Stats& s,
                const Tensor& dlogits) {
  cross_entropy_gradient(context, {.logits = p.logits,
                                   .targets = p.targets,
                                   .valid_columns = c.valid,
                                   .row_max = s.max,
                                   .row_sum = s.sum,
                                   .smoothing = c.terms.smoothing,
                                   .z_loss = c.terms.z_loss,
                                   .vocabulary = c.valid,
                                   .step = {.inverse_divisor = 0.5},
                                   .dlogits = dlogits});
  return dlogits;
}

double total(const Tensor& t) {
  double sum = 0;
  for (const double v : values(t)) sum += v;
  return sum;
}

class CrossEntropyOf : public testing::TestWithParam<CrossEntropyCase> {};

TEST_P(CrossEntropyOf, IsTheFormula) {
  const CrossEntropyCase c = GetParam();
  OperationContext context;
  const CrossEntropyProblem p = problem(context, c, DType::F64);
  const Tensor loss = losses(context, stats(context, p.logits, p.targets, c.valid), p.targets, c.terms, c.valid);
  for (int64_t r = 0; r < c.rows; ++r) {
    const double* row = p.logits.data<double>() + r * c.columns;
    const int32_t target = p.targets.data<int32_t>()[r];
    double z = 0;
    for (int64_t v = 0; v < c.valid; ++v) z += std::exp(row[v]);
    double expected = c.terms.z_loss * std::pow(std::log(z), 2);
    for (int64_t v = 0; v < c.valid; ++v) {
      const double weight =
          (v == target ? 1 - c.terms.smoothing : 0) + c.terms.smoothing / static_cast<double>(c.valid);
      expected -= weight * (row[v] - std::log(z));
    }
    EXPECT_NEAR(loss.data<double>()[r], target < 0 ? 0 : expected, 1e-11);
  }
}

TEST_P(CrossEntropyOf, GradientMatchesFiniteDifferences) {
  const CrossEntropyCase c = GetParam();
  OperationContext context;
  const CrossEntropyProblem p = problem(context, c, DType::F64);
  const auto loss = [&] {
    return 0.5 * total(losses(context, stats(context, p.logits, p.targets, c.valid), p.targets, c.terms, c.valid));
  };
  const Stats s = stats(context, p.logits, p.targets, c.valid);
  const Tensor d = gradient(context, c, p, s, context.empty(p.logits.shape(), DType::F64));
  EXPECT_TRUE(gradient_matches(p.logits, d, loss));
}

TEST_P(CrossEntropyOf, AgreesWithF64) {
  const CrossEntropyCase c = GetParam();
  for (const int threads : {1, 2}) {
    OperationContext context({}, threads);
    const CrossEntropyProblem p = problem(context, c, DType::F32);
    const CrossEntropyProblem q{copy_as(context, p.logits, DType::F64), p.targets};
    const Stats s = stats(context, p.logits, p.targets, c.valid), t = stats(context, q.logits, p.targets, c.valid);
    EXPECT_TRUE(close(losses(context, s, p.targets, c.terms, c.valid), losses(context, t, p.targets, c.terms, c.valid),
                      tolerance(DType::F32)));
    const Tensor exact = gradient(context, c, q, t, context.empty(q.logits.shape(), DType::F64));
    const Tensor d = gradient(context, c, p, s, context.empty(p.logits.shape(), DType::F32));
    EXPECT_TRUE(close(d, exact, tolerance(DType::F32)));
    const Tensor d16 = gradient(context, c, p, s, context.empty(p.logits.shape(), DType::BF16));
    EXPECT_TRUE(close(d16, exact, tolerance(DType::BF16)));
    EXPECT_TRUE(same_bits(gradient(context, c, p, s, p.logits), d)) << "in place";
  }
}

// Two chunks, combined as ranks of a sharded vocabulary combine theirs, give the result of the whole vocabulary.
TEST_P(CrossEntropyOf, ChunksCombine) {
  const CrossEntropyCase c = GetParam();
  if (c.valid < 2) return;  // one column cannot be cut in two
  OperationContext context;
  const CrossEntropyProblem p = problem(context, c, DType::F64);
  const int64_t cut = c.valid / 2;
  const Tensor left = context.empty({c.rows, cut}, DType::F64),
               right = context.empty({c.rows, c.valid - cut}, DType::F64);
  for (int64_t r = 0; r < c.rows; ++r) {
    const double* row = p.logits.data<double>() + r * c.columns;
    std::copy_n(row, cut, left.data<double>() + r * cut);
    std::copy_n(row + cut, c.valid - cut, right.data<double>() + r * (c.valid - cut));
  }
  const Stats whole = stats(context, p.logits, p.targets, c.valid);
  const Stats a = stats(context, left, p.targets, cut), b = stats(context, right, p.targets, c.valid - cut, cut);
  for (int64_t r = 0; r < c.rows; ++r) {
    const auto at = [r](const Tensor& t) { return t.data<double>()[r]; };
    const double most = std::max(at(a.max), at(b.max));
    EXPECT_EQ(at(whole.max), most);
    EXPECT_NEAR(at(whole.sum), at(a.sum) * std::exp(at(a.max) - most) + at(b.sum) * std::exp(at(b.max) - most), 1e-9);
    EXPECT_EQ(at(whole.target), at(a.target) + at(b.target));
    EXPECT_NEAR(at(whole.total), at(a.total) + at(b.total), 1e-9);
  }
}

struct Whole {
  Tensor loss, nll, dlogits;
};

// cross_entropy() on a copy of the logits; dlogits has `dtype`, and the logits' memory if that is their dtype.
Whole whole(Context& context, const CrossEntropyCase& c, const CrossEntropyProblem& p, DType dtype) {
  const Tensor logits = copy(context, p.logits);
  Whole w{context.empty({c.rows}, logits.dtype()), context.empty({c.rows}, logits.dtype()),
          dtype == logits.dtype() ? logits : context.empty(logits.shape(), dtype)};
  cross_entropy(context, {.logits = logits,
                          .targets = p.targets,
                          .valid_columns = c.valid,
                          .smoothing = c.terms.smoothing,
                          .z_loss = c.terms.z_loss,
                          .step = {.inverse_divisor = 0.5},
                          .loss = w.loss,
                          .nll = w.nll,
                          .dlogits = w.dlogits});
  return w;
}

// Compares cross_entropy() with the four operations, in `logits` and `dlogits`.
void check_one_operation(Context& context, const CrossEntropyCase& c, DType logits, DType dlogits) {
  const CrossEntropyProblem p = problem(context, c, logits), exact{copy_as(context, p.logits, DType::F64), p.targets};
  const Whole w = whole(context, c, p, dlogits);
  const Stats s = stats(context, exact.logits, p.targets, c.valid);
  EXPECT_TRUE(close(w.loss, losses(context, s, p.targets, c.terms, c.valid), tolerance(logits)));
  EXPECT_TRUE(close(w.nll, losses(context, s, p.targets, {}, c.valid), tolerance(logits)));
  const Tensor d = gradient(context, c, exact, s, context.empty(exact.logits.shape(), DType::F64));
  EXPECT_TRUE(close(w.dlogits, d, tolerance(dlogits))) << name(dlogits);
  // Without a gradient, cross_entropy() leaves the logits as they are.
  const Tensor before = copy(context, p.logits), loss = context.empty({c.rows}, logits);
  cross_entropy(context, {.logits = p.logits,
                          .targets = p.targets,
                          .valid_columns = c.valid,
                          .smoothing = c.terms.smoothing,
                          .z_loss = c.terms.z_loss,
                          .loss = loss});
  EXPECT_TRUE(same_bits(p.logits, before));
  EXPECT_TRUE(close(loss, w.loss, tolerance(logits) / 10));
}

TEST_P(CrossEntropyOf, TheOneOperationIsTheFour) {
  for (const int threads : {1, 2}) {
    OperationContext context({}, threads);
    check_one_operation(context, GetParam(), DType::F64, DType::F64);
    check_one_operation(context, GetParam(), DType::F32, DType::F32);
    check_one_operation(context, GetParam(), DType::F32, DType::BF16);
  }
}

TEST_P(CrossEntropyOf, TheOneOperationsGradientMatchesFiniteDifferences) {
  const CrossEntropyCase c = GetParam();
  OperationContext context;
  const CrossEntropyProblem p = problem(context, c, DType::F64);
  const Tensor d = whole(context, c, p, DType::F64).dlogits;
  EXPECT_TRUE(gradient_matches(p.logits, d, [&] { return 0.5 * total(whole(context, c, p, DType::F64).loss); }));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CrossEntropyOf,
    testing::Values(CrossEntropyCase{1, 1, 1}, CrossEntropyCase{7, 7, 7, {0.1}}, CrossEntropyCase{5, 16, 13, {0.1}},
                    CrossEntropyCase{129, 129, 129}, CrossEntropyCase{3, 1000, 1000, {0.2}},
                    CrossEntropyCase{3, 50304, 50257, {0.1}}, CrossEntropyCase{2, 60001, 60000, {0.1}},
                    CrossEntropyCase{2, 66000, 65999}, CrossEntropyCase{1, 1, 1, {0, 0.5}},
                    CrossEntropyCase{7, 7, 7, {0.1, 0.01}}, CrossEntropyCase{129, 129, 129, {0, 0.2}},
                    CrossEntropyCase{3, 50304, 50257, {0.1, 0.001}}, CrossEntropyCase{2, 60001, 60000, {0, 0.1}}),
    [](const auto& info) { return printable(testing::PrintToString(info.param)); });

// More rows than a device of 132 multiprocessors works on at once, 32 blocks on each; whole pieces, and others.
TEST(CrossEntropyEdges, RowsWaitForABlockThatIsDone) {
  OperationContext context;
  for (const int64_t columns : {8, 7}) {
    const CrossEntropyCase c{132 * 32 + 100, columns, 7, {0.1}};
    check_one_operation(context, c, DType::F32, DType::F32);
    check_one_operation(context, c, DType::F32, DType::BF16);
  }
}

TEST(CrossEntropyEdges, PaddingColumnsGetNoGradientWhateverTheyHold) {
  OperationContext context;
  const CrossEntropyCase c{2, 5, 3, {0.1}};
  CrossEntropyProblem p = problem(context, c, DType::F32);
  p.logits.data<float>()[3] = 1e30f, p.logits.data<float>()[4] = std::nanf("");
  const Tensor d = gradient(context, c, p, stats(context, p.logits, p.targets, 3), context.empty({2, 5}, DType::F32));
  EXPECT_EQ(d.data<float>()[3], 0);
  EXPECT_EQ(d.data<float>()[4], 0);
  for (int i = 5; i < 10; ++i) EXPECT_EQ(d.data<float>()[i], 0) << "ignored row";
}

TEST(CrossEntropyEdges, LargeLogitsAreExact) {
  OperationContext context;
  const Tensor logits = constant(context, {1, 4}, DType::F32, 5e4), targets = integers(context, {2});
  const Tensor loss = losses(context, stats(context, logits, targets, 4), targets, {}, 4);
  EXPECT_NEAR(loss.data<float>()[0], std::log(4), 5e-3);  // 5e4 + log 4 is rounded to f32's 2^-8 spacing nowhere
}

// All logits are 30 + log 2, four of them: log Z is 30 + log 8, of which the maximum is the larger part.
TEST(CrossEntropyEdges, TheZLossIsOfTheWholeLogZ) {
  OperationContext context;
  const CrossEntropyProblem p{constant(context, {1, 4}, DType::F32, 30 + std::log(2)), integers(context, {2})};
  const CrossEntropyCase c{1, 4, 4, {0, 0.125}};
  const double log_z = 30 + std::log(8), slope = 1 + 2 * 0.125 * log_z;
  const Stats s = stats(context, p.logits, p.targets, 4);
  const Tensor parts = gradient(context, c, p, s, context.empty({1, 4}, DType::F32));
  const Whole w = whole(context, c, p, DType::F32);
  for (const Tensor& loss : {losses(context, s, p.targets, c.terms, 4), w.loss}) {
    EXPECT_NEAR(values(loss)[0], std::log(4) + 0.125 * log_z * log_z, 1e-4);
  }
  EXPECT_NEAR(values(w.nll)[0], std::log(4), 1e-5);
  for (const Tensor& d : {parts, w.dlogits}) {
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(values(d)[i], 0.5 * (slope / 4 - (i == 2 ? 1 : 0)), 1e-5) << i;
  }
}

TEST(CrossEntropyEdges, AChunkOfPaddingAloneAddsNothing) {
  OperationContext context;
  const Stats s = stats(context, constant(context, {2, 4}, DType::F32, 1), integers(context, {0, 1}), 0);
  EXPECT_EQ(values(s.sum), std::vector<double>(2, 0.0));
  EXPECT_EQ(values(s.max), std::vector<double>(2, -std::numeric_limits<double>::infinity()));
}

TEST(CrossEntropyEdges, NonFiniteLogitsGiveANonFiniteLoss) {
  OperationContext context;
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    for (const int at : {0, 20, 36}) {
      const Tensor logits = random(context, {1, 37}, DType::F32, 3), targets = integers(context, {2});
      logits.data<float>()[at] = bad;
      const Tensor loss = losses(context, stats(context, logits, targets, 37), targets, {}, 37);
      EXPECT_FALSE(std::isfinite(loss.data<float>()[0])) << bad << " at " << at;
    }
  }
}

TEST(CrossEntropyEdges, TheOneOperationMindsPaddingIgnoredRowsAndWhatIsNotFinite) {
  OperationContext context;
  const CrossEntropyCase c{3, 37, 36, {0.1, 0.01}};
  const auto at = [](const Tensor& t, int64_t i) { return static_cast<double>(t.data<float>()[i]); };
  for (const DType dtype : {DType::F32, DType::BF16}) {
    CrossEntropyProblem p = problem(context, c, DType::F32);
    for (const int64_t row : {0, 1, 2}) p.logits.data<float>()[row * 37 + 36] = std::nanf("");  // padding
    p.logits.data<float>()[37 + 4] = std::nanf("");                                             // an ignored row
    const Whole w = whole(context, c, p, dtype);
    const std::vector<double> d = values(w.dlogits);
    EXPECT_TRUE(std::isfinite(at(w.loss, 0)) && std::isfinite(at(w.loss, 2)));
    EXPECT_EQ(at(w.loss, 1), 0);
    EXPECT_EQ(at(w.nll, 1), 0);
    for (int64_t i = 0; i < 37; ++i) EXPECT_EQ(d[static_cast<size_t>(37 + i)], 0);
    EXPECT_EQ(d[36], 0);
    EXPECT_NE(d[35], 0);
  }
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    for (const int column : {0, 20, 35}) {
      const CrossEntropyProblem p = problem(context, c, DType::F32);
      p.logits.data<float>()[2 * 37 + column] = bad;
      const Whole w = whole(context, c, p, DType::F32);
      EXPECT_FALSE(std::isfinite(at(w.loss, 2))) << bad << " at " << column;
      EXPECT_FALSE(std::isfinite(at(w.nll, 2))) << bad << " at " << column;
      EXPECT_TRUE(std::isfinite(at(w.loss, 0)));
    }
  }
  const CrossEntropyProblem p = problem(context, c, DType::F32);
  p.targets.data<int32_t>()[2] = 36;  // beyond the vocabulary: no other row's memory is touched
  EXPECT_TRUE(std::isnan(at(whole(context, c, p, DType::F32).loss, 2)));
}

TEST(CrossEntropyEdges, MisfitsOfTheOneOperationAreNamed) {
  OperationContext context;
  const Tensor logits = context.zeros({2, 4}, DType::F32), rows = context.zeros({2}, DType::F32);
  const CrossEntropy good{.logits = logits, .targets = integers(context, {0, 1}), .valid_columns = 4, .loss = rows};
  const auto message = [&](auto&& change) {
    CrossEntropy args = good;
    change(args);
    return error_of([&] { cross_entropy(context, args); });
  };
  EXPECT_EQ(message([](auto& a) { a.valid_columns = 0; }), "cross_entropy: a vocabulary of 0");
  EXPECT_EQ(message([](auto& a) { a.z_loss = -0.5; }), "cross_entropy: z_loss -0.5 is below 0");
  EXPECT_EQ(message([](auto& a) { a.loss = {}; }), "cross_entropy: loss is absent");
  EXPECT_EQ(message([&](auto& a) { a.nll = logits; }), "cross_entropy: nll is f32[2, 4], expected 2 elements of f32");
  EXPECT_EQ(message([&](auto& a) {
              a.dlogits = context.zeros({2, 4}, DType::F64);
            }),
            "cross_entropy: dlogits f64[2, 4] for logits f32[2, 4]");
  EXPECT_EQ(message([&](auto& a) {
              a.dlogits = context.zeros({2, 5}, DType::BF16);
            }),
            "cross_entropy: dlogits is bf16[2, 5], expected bf16[2, 4]");
  Context dry(Device{DeviceKind::Meta});
  cross_entropy(dry, {.logits = dry.empty({8, 50257}, DType::F32),
                      .targets = dry.empty({8}, DType::I32),
                      .valid_columns = 50257,
                      .loss = dry.empty({8}, DType::F32),
                      .dlogits = dry.empty({8, 50257}, DType::BF16)});
  EXPECT_EQ(dry.ledger().entries().at("cross_entropy").bytes, 8.0 * 50257 * 6);
}

TEST(CrossEntropyEdges, MisfitsAreNamed) {
  OperationContext context;
  const Tensor logits = context.zeros({2, 4}, DType::F32), rows = context.zeros({2}, DType::F32);
  const Tensor targets = integers(context, {0, 1});
  CrossEntropyStats args{
      .logits = logits, .targets = targets, .valid_columns = 5, .row_max = rows, .row_sum = rows, .row_target = rows};
  const auto message = [&] { return error_of([&] { cross_entropy_stats(context, args); }); };
  EXPECT_EQ(message(), "cross_entropy_stats: 5 valid columns of logits f32[2, 4]");
  args.valid_columns = 4, args.targets = integers(context, {1});
  EXPECT_EQ(message(), "cross_entropy_stats: targets is i32[1], expected 2 elements of i32");
  args.logits = context.zeros({2, 4}, DType::BF16);
  EXPECT_EQ(message(), "cross_entropy_stats: logits bf16[2, 4] are not a matrix of f32 or f64");
  CrossEntropyLoss loss{.targets = targets,
                        .row_max = rows,
                        .row_sum = rows,
                        .row_target = rows,
                        .smoothing = 0.1,
                        .vocabulary = 4,
                        .loss = rows};
  EXPECT_EQ(error_of([&] { cross_entropy_loss(context, loss); }), "cross_entropy_loss: row_total is absent");
  loss.smoothing = 1;
  EXPECT_EQ(error_of([&] { cross_entropy_loss(context, loss); }), "cross_entropy_loss: smoothing 1 is outside [0, 1)");
  loss.smoothing = 0, loss.z_loss = -1;
  EXPECT_EQ(error_of([&] { cross_entropy_loss(context, loss); }), "cross_entropy_loss: z_loss -1 is below 0");
  const CrossEntropyCase none{2, 4, 4, {0, std::nan("")}};
  EXPECT_EQ(error_of([&] {
              gradient(context, none, {logits, targets}, {rows, rows, rows, rows}, logits);
            }),
            "cross_entropy_gradient: z_loss nan is below 0");
}

TEST(CrossEntropyEdges, RunsDry) {
  Context dry(Device{DeviceKind::Meta});
  const Tensor logits = dry.empty({8, 50257}, DType::F32), rows = dry.empty({8}, DType::F32);
  const Tensor targets = dry.empty({8}, DType::I32);
  const Stats s = stats(dry, logits, targets, 50257);
  losses(dry, s, targets, {0.1}, 50257);
  gradient(dry, {8, 50257, 50257, {0.1}}, {logits, targets}, s, dry.empty({8, 50257}, DType::BF16));
  EXPECT_EQ(dry.ledger().entries().size(), 3U);
  EXPECT_EQ(dry.ledger().entries().at("cross_entropy_gradient").bytes, 8.0 * 50257 * 6);
}

}  // namespace
}  // namespace weft
