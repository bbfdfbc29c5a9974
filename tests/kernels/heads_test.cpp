// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/heads.h"

#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

constexpr int64_t kPositions = 40;

struct HeadsCase {
  const char* name;
  HeadRow row;
  QkNorm norm = QkNorm::None;
  std::optional<RotaryForm> form = {};
  bool gamma = true;
  int64_t rows = 37;
  friend void PrintTo(const HeadsCase& c, std::ostream* out) { *out << c.name; }
};

// cosines and sines of angles t / 100^(2 i / head_dim)
std::pair<Tensor, Tensor> tables(Context& context, int64_t head_dim, DType dtype) {
  const Tensor cosines = context.empty({kPositions, head_dim / 2}, DType::F64);
  const Tensor sines = context.empty(cosines.shape(), DType::F64);
  for (int64_t t = 0; t < kPositions; ++t) {
    for (int64_t i = 0; i < head_dim / 2; ++i) {
      const double angle = static_cast<double>(t) * std::pow(100, -2.0 * static_cast<double>(i) / head_dim);
      cosines.data<double>()[t * (head_dim / 2) + i] = std::cos(angle);
      sines.data<double>()[t * (head_dim / 2) + i] = std::sin(angle);
    }
  }
  return {copy_as(context, cosines, dtype), copy_as(context, sines, dtype)};
}

struct HeadsProblem {
  Context& context;
  HeadsCase c;
  DType dtype;
  Tensor x, dy;
  HeadNorm norm;
  Rotary rotary;

  HeadsProblem(Context& context, const HeadsCase& c, DType dtype) : context(context), c(c), dtype(dtype) {
    const HeadRow& row = c.row;
    x = random(context, {c.rows, row.columns()}, dtype, 1);
    dy = random(context, x.shape(), dtype, 2);
    norm = {.scope = c.norm, .epsilon = 1e-3};
    const bool wide = c.norm == QkNorm::Width;
    const int64_t queries = row.groups * row.queries * row.head_dim, keys = row.groups * row.keys * row.head_dim;
    if (c.norm != QkNorm::None && c.gamma) {
      if (queries > 0) norm.query_gamma = random(context, {wide ? queries : row.head_dim}, dtype, 3);
      if (keys > 0) norm.key_gamma = random(context, {wide ? keys : row.head_dim}, dtype, 4);
    }
    if (wide) norm.query_features = queries, norm.key_features = keys;
    if (!c.form) return;
    std::tie(rotary.cosines, rotary.sines) = tables(context, row.head_dim, accumulator_of(dtype));
    std::vector<int32_t> positions;
    for (int64_t r = 0; r < c.rows; ++r) positions.push_back(static_cast<int32_t>(r * 7 % kPositions));
    rotary.row_positions = integers(context, positions);
    rotary.form = *c.form;
  }
  HeadsProblem widened() const {
    HeadsProblem p = *this;
    p.dtype = DType::F64;
    for (Tensor* t : {&p.x, &p.dy, &p.norm.query_gamma, &p.norm.key_gamma, &p.rotary.cosines, &p.rotary.sines}) {
      if (*t) *t = copy_as(context, *t, DType::F64);
    }
    return p;
  }
  HeadNorm norm_with_squares() const {
    HeadNorm with = norm;
    if (norm.scope != QkNorm::Width) return with;
    with.squares = context.empty({c.rows, 2}, accumulator_of(dtype));
    head_squares(context, {.x = x, .row = c.row, .sums = with.squares});
    return with;
  }
  Tensor forward() const {
    if (norm.scope == QkNorm::None) {
      const Tensor turned = copy(context, x);
      heads_forward(context, {.x = turned, .row = c.row, .rotary = rotary});
      return turned;
    }
    const Tensor y = context.empty(x.shape(), dtype);
    heads_forward(context, {.x = x, .row = c.row, .norm = norm_with_squares(), .rotary = rotary, .y = y});
    return y;
  }
};

struct Gradients {
  Tensor dx, dquery_gamma, dkey_gamma;
};

void backward(const HeadsProblem& p, Gradients& g, Accumulate mode = Accumulate::Overwrite) {
  g.dx = copy(p.context, p.dy);
  HeadsBackward args{.d = g.dx, .row = p.c.row, .norm = p.norm_with_squares(), .rotary = p.rotary};
  if (p.norm.scope != QkNorm::None) args.x = p.x;
  if (p.norm.scope == QkNorm::Width) {
    args.products = p.context.empty({p.c.rows, 2}, accumulator_of(p.dtype));
    head_products(p.context,
                  {.dy = p.dy, .x = p.x, .row = p.c.row, .norm = args.norm, .rotary = p.rotary, .sums = args.products});
  }
  const auto of = [&](const Tensor& gamma, Tensor& gradient) -> Gradient {
    if (!gamma) return {};
    if (!gradient) gradient = random(p.context, gamma.shape(), accumulator_of(p.dtype), 9);
    return {gradient, mode};
  };
  args.dquery_gamma = of(p.norm.query_gamma, g.dquery_gamma);
  args.dkey_gamma = of(p.norm.key_gamma, g.dkey_gamma);
  heads_backward(p.context, args);
}

Gradients backward(const HeadsProblem& p) {
  Gradients g;
  backward(p, g);
  return g;
}

class Heads : public testing::TestWithParam<HeadsCase> {};

TEST_P(Heads, GradientsMatchFiniteDifferences) {
  OperationContext context;
  const HeadsProblem p(context, GetParam(), DType::F64);
  const Gradients g = backward(p);
  const auto loss = [&] { return dot(p.forward(), p.dy); };
  EXPECT_TRUE(gradient_matches(p.x, g.dx, loss));
  if (p.norm.query_gamma) {
    EXPECT_TRUE(gradient_matches(p.norm.query_gamma, g.dquery_gamma, loss));
  }
  if (p.norm.key_gamma) {
    EXPECT_TRUE(gradient_matches(p.norm.key_gamma, g.dkey_gamma, loss));
  }
}

TEST_P(Heads, AgreesWithF64) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    OperationContext context({}, 2);
    const HeadsProblem p(context, GetParam(), dtype), exact = p.widened();
    EXPECT_TRUE(close(p.forward(), exact.forward(), tolerance(dtype))) << name(dtype);
    const Gradients a = backward(p), e = backward(exact);
    EXPECT_TRUE(close(a.dx, e.dx, tolerance(dtype))) << name(dtype);
    if (a.dquery_gamma) {
      EXPECT_TRUE(close(a.dquery_gamma, e.dquery_gamma, tolerance(dtype))) << name(dtype);
    }
    if (a.dkey_gamma) {
      EXPECT_TRUE(close(a.dkey_gamma, e.dkey_gamma, tolerance(dtype))) << name(dtype);
    }
  }
}

TEST_P(Heads, DoesNotDependOnThreads) {
  OperationContext first({}, 1), second({}, 4);
  const HeadsProblem p(first, GetParam(), DType::F32), q(second, GetParam(), DType::F32);
  EXPECT_TRUE(same_bits(p.forward(), q.forward()));
  const Gradients a = backward(p), b = backward(q);
  EXPECT_TRUE(same_bits(a.dx, b.dx));
  if (a.dquery_gamma) {
    EXPECT_TRUE(same_bits(a.dquery_gamma, b.dquery_gamma));
  }
}

TEST_P(Heads, AddingTwiceIsTwiceTheGradient) {
  OperationContext context({}, 2);
  const HeadsProblem p(context, GetParam(), DType::F32);
  Gradients once = backward(p), twice = backward(p);
  backward(p, twice, Accumulate::Add);
  if (!once.dkey_gamma) return;
  std::vector<double> doubled = values(once.dkey_gamma);
  for (double& v : doubled) v *= 2;
  EXPECT_EQ(values(twice.dkey_gamma), doubled);
}

// Packed QKV, Q rows and KV rows; heads that are whole vectors, and heads that are not.
const HeadsCase kCases[] = {{"halves", {2, 3, 1, 1, 64}, QkNorm::None, RotaryForm::Halves},
                            {"interleaved", {2, 1, 1, 1, 64}, QkNorm::None, RotaryForm::Interleaved},
                            {"halves_80", {3, 1, 1, 1, 80}, QkNorm::None, RotaryForm::Halves},
                            {"interleaved_small", {1, 2, 1, 1, 6}, QkNorm::None, RotaryForm::Interleaved},
                            {"halves_small", {3, 1, 1, 1, 10}, QkNorm::None, RotaryForm::Halves},
                            {"head_norm_halves", {2, 3, 1, 1, 64}, QkNorm::Head, RotaryForm::Halves},
                            {"head_norm_interleaved_128", {2, 1, 1, 1, 128}, QkNorm::Head, RotaryForm::Interleaved},
                            {"head_norm_odd", {2, 2, 1, 1, 5}, QkNorm::Head, {}},
                            {"head_norm_without_gamma", {2, 1, 1, 1, 32}, QkNorm::Head, {}, false},
                            {"head_norm_one_row", {2, 1, 1, 1, 64}, QkNorm::Head, RotaryForm::Halves, true, 1},
                            {"head_norm_256", {1, 2, 1, 1, 256}, QkNorm::Head, RotaryForm::Halves, true, 70},
                            {"head_norm_queries", {2, 3, 0, 0, 16}, QkNorm::Head, {}},
                            {"head_norm_keys", {2, 0, 1, 1, 16}, QkNorm::Head, {}},
                            {"width_norm_halves", {2, 3, 1, 1, 64}, QkNorm::Width, RotaryForm::Halves},
                            {"width_norm_interleaved", {5, 1, 1, 1, 6}, QkNorm::Width, RotaryForm::Interleaved},
                            {"width_norm_many_heads", {40, 1, 1, 1, 64}, QkNorm::Width, RotaryForm::Halves, true, 20},
                            {"width_norm_queries", {2, 3, 0, 0, 16}, QkNorm::Width, {}},
                            {"width_norm_keys", {2, 0, 1, 1, 16}, QkNorm::Width, {}}};
INSTANTIATE_TEST_SUITE_P(All, Heads, testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.name); });

// Two pairs of one query: at position 2, with angles 2 and 2 / 10.
TEST(HeadsValue, TurnsPairsByTheirAngles) {
  OperationContext context;
  const double c0 = std::cos(2.0), s0 = std::sin(2.0), c1 = std::cos(0.2), s1 = std::sin(0.2);
  const auto turned = [&](RotaryForm form) {
    const Tensor x = context.empty({1, 4}, DType::F64);
    std::ranges::copy(std::array{1.0, 2.0, 3.0, 4.0}, x.data<double>());
    Rotary rotary{.form = form, .row_positions = integers(context, {2})};
    std::tie(rotary.cosines, rotary.sines) = tables(context, 4, DType::F64);
    heads_forward(context, {.x = x, .row = {.queries = 1, .head_dim = 4}, .rotary = rotary});
    return values(x);
  };
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    for (size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12) << i;
  };
  near(turned(RotaryForm::Interleaved), {c0 - 2 * s0, 2 * c0 + s0, 3 * c1 - 4 * s1, 4 * c1 + 3 * s1});
  near(turned(RotaryForm::Halves), {c0 - 3 * s0, 2 * c1 - 4 * s1, 3 * c0 + s0, 4 * c1 + 2 * s1});
}

// What rotary positions are for: a score depends on how far apart query and key are, and on nothing else.
TEST(HeadsValue, ScoresDependOnDistancesAlone) {
  OperationContext context;
  const Tensor row = random(context, {1, 3 * 16}, DType::F64, 5);
  const auto score = [&](int32_t query_position, int32_t key_position) {
    const auto at = [&](int32_t position) {
      const Tensor x = copy(context, row);
      Rotary rotary{.form = RotaryForm::Halves, .row_positions = integers(context, {position})};
      std::tie(rotary.cosines, rotary.sines) = tables(context, 16, DType::F64);
      heads_forward(context, {.x = x, .row = {.queries = 1, .keys = 1, .values = 1, .head_dim = 16}, .rotary = rotary});
      return values(x);
    };
    const std::vector<double> q = at(query_position), k = at(key_position);
    double sum = 0;
    for (size_t i = 0; i < 16; ++i) sum += q[i] * k[16 + i];
    return sum;
  };
  EXPECT_NEAR(score(9, 4), score(30, 25), 1e-12);
  EXPECT_GT(std::abs(score(9, 4) - score(9, 5)), 1e-3);
}

// (1, 2, 2) has a mean square of 3, (2, 4, 4) one of 12: their norm by head is the same row, as a cosine needs it.
TEST(HeadsValue, NormsByHand) {
  OperationContext context;
  const Tensor x = context.empty({1, 9}, DType::F64), y = context.empty({1, 9}, DType::F64);
  std::ranges::copy(std::array{1.0, 2.0, 2.0, 2.0, 4.0, 4.0, 7.0, 8.0, 9.0}, x.data<double>());
  heads_forward(context, {.x = x,
                          .row = {.queries = 1, .keys = 1, .values = 1, .head_dim = 3},
                          .norm = {.scope = QkNorm::Head, .epsilon = 0},
                          .y = y});
  const double unit = 1 / std::sqrt(3.0);
  const std::vector<double> expected{unit, 2 * unit, 2 * unit, unit, 2 * unit, 2 * unit, 7, 8, 9};
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(values(y)[i], expected[i], 1e-14) << i;
}

TEST(HeadsChecks, RunsDryAndNamesWhatDoesNotFit) {
  Context meta({DeviceKind::Meta, 0});
  const auto t = [&](Shape shape, DType dtype = DType::BF16) { return meta.empty(shape, dtype); };
  const HeadRow row{.groups = 2, .queries = 1, .keys = 1, .values = 1, .head_dim = 8};
  const Rotary rotary{
      .cosines = t({9, 4}, DType::F32), .sines = t({9, 4}, DType::F32), .row_positions = t({6}, DType::I32)};
  const auto message = [&](const HeadsForward& args) {
    return error_of<InternalError>([&] { heads_forward(meta, args); });
  };
  EXPECT_EQ(message({.x = t({6, 48}), .row = row, .rotary = rotary}), "no error");
  // Queries and keys are read and written; each row reads 4 cosines, 4 sines and its position.
  EXPECT_EQ(meta.ledger().entries().at("heads_forward").bytes, 2 * 6 * 32 * 2 + 6 * 8 * 4 + 6 * 4);
  EXPECT_EQ(message({.x = t({6, 47}), .row = row, .rotary = rotary}),
            "heads_forward: x is bf16[6, 47], expected bf16[6, 48]");
  EXPECT_EQ(message({.x = t({6, 48}), .row = row}), "heads_forward: neither a norm nor a rotation");
  EXPECT_EQ(message({.x = t({6, 48}), .row = row, .rotary = rotary, .y = t({6, 48})}),
            "heads_forward: y bf16[6, 48] without a norm, where x is rotated in place");
  EXPECT_EQ(message({.x = t({6, 48}), .row = row, .norm = {.scope = QkNorm::Head}}), "heads_forward: y is absent");
  EXPECT_EQ(message({.x = t({6, 48}), .row = row, .norm = {.scope = QkNorm::Width}, .y = t({6, 48})}),
            "heads_forward: squares is absent");
}

}  // namespace
}  // namespace weft
