// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/embed.h"

#include <algorithm>
#include <numeric>

#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

struct EmbeddingCase {
  int64_t rows, width, vocabulary;
  bool positions = true;
  double dropout = 0;
  double scale = 1;
  int64_t first_token = 0;
  bool frequent = false;  // most rows have the same token
  friend void PrintTo(const EmbeddingCase& c, std::ostream* out) {
    *out << c.rows << "x" << c.width << " of " << c.vocabulary << (c.positions ? " positions" : "")
         << (c.dropout > 0 ? " dropout" : "") << (c.scale != 1 ? " scaled" : "") << " from " << c.first_token
         << (c.frequent ? " frequent" : "");
  }
};

// The rows sorted by their indices, as a batch sorts them.
Tensor sorted_rows(Context& context, const Tensor& indices) {
  std::vector<int32_t> rows(static_cast<size_t>(indices.elements()));
  std::iota(rows.begin(), rows.end(), 0);
  std::ranges::stable_sort(rows, {}, [&](int32_t r) { return indices.data<int32_t>()[r]; });
  return integers(context, rows);
}

struct EmbeddingProblem {
  Context& context;
  EmbeddingCase c;
  DType dtype;
  StepState state;
  RowIds ids;
  Tensor by_token, by_position;
  Tensor tokens, table, positions, x, dy;
  Dropout dropout;

  EmbeddingProblem(Context& context, const EmbeddingCase& c, DType dtype) : context(context), c(c), dtype(dtype) {
    std::vector<int32_t> drawn;
    for (int64_t r = 0; r < c.rows; ++r) {
      drawn.push_back(static_cast<int32_t>(r * r % 23));  // repeats, gaps
      if (c.frequent && r % 8 != 0) drawn.back() = 3;
    }
    tokens = integers(context, drawn);
    ids = row_ids(context, c.rows, 5);
    by_token = sorted_rows(context, tokens), by_position = sorted_rows(context, ids.position);
    table = random(context, {c.vocabulary, c.width}, dtype, 1);
    if (c.positions) positions = random(context, {5, c.width}, dtype, 2);
    x = random(context, {c.rows, c.width}, dtype, 3);
    dy = random(context, {c.rows, c.width}, dtype, 4);
    state.dropout_key = 5;
    dropout = {.probability = c.dropout, .dropout_id = 8, .step = state, .rows = ids};
  }
  EmbeddingProblem widened() const {
    EmbeddingProblem p = *this;
    p.dtype = DType::F64;
    for (Tensor* t : {&p.table, &p.positions, &p.x, &p.dy}) {
      if (*t) *t = copy_as(context, *t, DType::F64);
    }
    return p;
  }
};

struct EmbeddingResult {
  Tensor y, dtable, dpositions;    // embed
  Tensor sum, dx, dpositions_too;  // add_positions
  std::vector<Tensor> gradients() const {
    std::vector<Tensor> list{dtable, dx};
    if (dpositions) list.push_back(dpositions), list.push_back(dpositions_too);
    return list;
  }
  std::vector<Tensor> all() const {
    std::vector<Tensor> list = gradients();
    list.push_back(y), list.push_back(sum);
    return list;
  }
};

void forward(const EmbeddingProblem& p, EmbeddingResult& r) {
  r.y = p.context.empty(p.x.shape(), p.dtype), r.sum = p.context.empty(p.x.shape(), p.dtype);
  embed_forward(p.context, {.tokens = p.tokens,
                            .table = p.table,
                            .first_token = p.c.first_token,
                            .scale = p.c.scale,
                            .positions = p.positions,
                            .dropout = p.dropout,
                            .row_positions = p.ids.position,
                            .y = r.y});
  add_positions_forward(p.context, {.x = p.x,
                                    .scale = p.c.scale,
                                    .positions = p.positions,
                                    .row_positions = p.ids.position,
                                    .dropout = p.dropout,
                                    .y = r.sum});
}

void backward(const EmbeddingProblem& p, EmbeddingResult& r, Accumulate mode) {
  const DType acc_dtype = accumulator_of(p.dtype);
  if (!r.dtable) {
    r.dtable = random(p.context, p.table.shape(), acc_dtype, 50), r.dx = random(p.context, p.x.shape(), p.dtype, 51);
    if (p.positions) {
      r.dpositions = random(p.context, p.positions.shape(), acc_dtype, 52);
      r.dpositions_too = random(p.context, p.positions.shape(), acc_dtype, 53);
    }
  }
  embed_backward(p.context, {.dy = p.dy,
                             .tokens = p.tokens,
                             .by_token = p.by_token,
                             .first_token = p.c.first_token,
                             .scale = p.c.scale,
                             .dropout = p.dropout,
                             .row_positions = p.ids.position,
                             .by_position = p.by_position,
                             .dtable = {r.dtable, mode},
                             .dpositions = {r.dpositions, mode}});
  add_positions_backward(p.context, {.dy = p.dy,
                                     .scale = p.c.scale,
                                     .row_positions = p.ids.position,
                                     .by_position = p.by_position,
                                     .dropout = p.dropout,
                                     .dx = r.dx,
                                     .dpositions = {r.dpositions_too, mode}});
}

EmbeddingResult run(const EmbeddingProblem& p) {
  EmbeddingResult r;
  forward(p, r);
  backward(p, r, Accumulate::Overwrite);
  return r;
}

class Embed : public testing::TestWithParam<EmbeddingCase> {};

TEST_P(Embed, GradientsMatchFiniteDifferences) {
  OperationContext context;
  const EmbeddingProblem p(context, GetParam(), DType::F64);
  const EmbeddingResult r = run(p);
  const auto embed_loss = [&] {
    EmbeddingResult f;
    forward(p, f);
    return dot(f.y, p.dy);
  };
  const auto sum_loss = [&] {
    EmbeddingResult f;
    forward(p, f);
    return dot(f.sum, p.dy);
  };
  EXPECT_TRUE(gradient_matches(p.table, r.dtable, embed_loss, 40)) << "dtable";
  EXPECT_TRUE(gradient_matches(p.x, r.dx, sum_loss, 40)) << "dx";
  if (p.positions) {
    EXPECT_TRUE(gradient_matches(p.positions, r.dpositions, embed_loss, 40)) << "dpositions of embed";
    EXPECT_TRUE(gradient_matches(p.positions, r.dpositions_too, sum_loss, 40)) << "dpositions of add_positions";
  }
}

TEST_P(Embed, AgreesWithF64) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const int threads : {1, 3}) {
      OperationContext context({}, threads);
      const EmbeddingProblem p(context, GetParam(), dtype);
      const std::vector<Tensor> actual = run(p).all(), exact = run(p.widened()).all();
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(close(actual[i], exact[i], tolerance(dtype))) << "tensor " << i << " " << name(dtype);
      }
    }
  }
}

TEST_P(Embed, DoesNotDependOnThreads) {
  OperationContext first({}, 1), second({}, 4);
  const EmbeddingProblem p(first, GetParam(), DType::F32), q(second, GetParam(), DType::F32);
  const std::vector<Tensor> a = run(p).all(), b = run(q).all();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "tensor " << i;
}

TEST_P(Embed, AddingTwiceIsTwiceTheGradient) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    OperationContext context({}, 2);
    const EmbeddingProblem p(context, GetParam(), dtype);
    const EmbeddingResult once = run(p);
    EmbeddingResult twice = run(p);
    backward(p, twice, Accumulate::Add);
    const std::vector<Tensor> a = twice.gradients(), b = once.gradients();
    for (size_t i = 0; i < a.size(); ++i) {
      std::vector<double> doubled = values(b[i]);
      const bool added = a[i].storage() != twice.dx.storage();  // dx is always overwritten
      for (double& v : doubled) v *= added ? 2 : 1;
      EXPECT_EQ(values(a[i]), doubled) << "gradient " << i << " " << name(dtype);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Embed,
    testing::Values(EmbeddingCase{.rows = 1, .width = 1, .vocabulary = 23},
                    EmbeddingCase{.rows = 7, .width = 7, .vocabulary = 23},
                    EmbeddingCase{.rows = 129, .width = 129, .vocabulary = 23},
                    EmbeddingCase{.rows = 129, .width = 129, .vocabulary = 23, .positions = false},
                    EmbeddingCase{.rows = 50, .width = 200, .vocabulary = 23, .dropout = 0.2, .scale = 3.5},
                    EmbeddingCase{.rows = 50, .width = 33, .vocabulary = 23, .positions = false, .dropout = 0.5},
                    EmbeddingCase{.rows = 60, .width = 16, .vocabulary = 10, .positions = false, .first_token = 8},
                    EmbeddingCase{.rows = 600, .width = 40, .vocabulary = 23, .dropout = 0.2, .frequent = true},
                    EmbeddingCase{.rows = 40, .width = 3601, .vocabulary = 23, .frequent = true},
                    EmbeddingCase{.rows = 40, .width = 3616, .vocabulary = 23, .dropout = 0.1, .frequent = true}),
    [](const auto& i) { return printable(testing::PrintToString(i.param)); });

TEST(EmbedValue, EqualsHandComputedRows) {
  OperationContext context;
  const Tensor table = context.empty({3, 2}, DType::F32), positions = context.empty({2, 2}, DType::F32);
  std::ranges::copy(std::array{1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, table.data<float>());
  std::ranges::copy(std::array{.5f, .25f, -1.f, -2.f}, positions.data<float>());
  const Tensor y = context.empty({3, 2}, DType::F32);
  embed_forward(context, {.tokens = integers(context, {2, 0, 2}),
                          .table = table,
                          .scale = 10,
                          .positions = positions,
                          .row_positions = integers(context, {0, 1, 1}),
                          .y = y});
  EXPECT_EQ(values(y), (std::vector<double>{50.5, 60.25, 9, 18, 49, 58}));
}

TEST(EmbedValue, ShardsOfTheVocabularyAddUpToTheWhole) {
  OperationContext context;
  const Tensor tokens = integers(context, {0, 9, 4, 5, 9, 3});
  const Tensor table = random(context, {10, 6}, DType::F64, 1), whole = context.empty({6, 6}, DType::F64);
  embed_forward(context, {.tokens = tokens, .table = table, .y = whole});
  std::vector<double> sum(36);
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 4}, {4, 5}, {5, 10}}) {
    const Tensor part = context.empty({6, 6}, DType::F64);
    embed_forward(context, {.tokens = tokens, .table = table.slice(begin, end), .first_token = begin, .y = part});
    for (size_t i = 0; i < 36; ++i) sum[i] += values(part)[i];
  }
  EXPECT_EQ(sum, values(whole));
}

TEST(EmbedChecks, RefusesWhatDoesNotFit) {
  OperationContext context;
  const Tensor tokens = integers(context, {0, 1}), table = constant(context, {3, 4}, DType::F32, 0);
  const Tensor positions = constant(context, {2, 4}, DType::F32, 0), y = context.empty({2, 4}, DType::F32);
  const auto message = [&](const EmbedForward& args) -> std::string {
    try {
      embed_forward(context, args);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "accepted";
  };
  EmbedForward args{.tokens = tokens, .table = table, .positions = positions, .y = y};
  EXPECT_EQ(message(args), "embed_forward: row_positions is absent");
  args.row_positions = integers(context, {0, 1});
  EXPECT_EQ(message(args), "accepted");
  args.y = context.empty({2, 5}, DType::F32);
  EXPECT_EQ(message(args), "embed_forward: y is f32[2, 5], expected f32[2, 4]");
  EXPECT_THROW(
      embed_backward(
          context, {.dy = y, .tokens = tokens, .dtable = {constant(context, {3, 5}, DType::F32, 0), Accumulate::Add}}),
      InternalError);
  EXPECT_THROW(add_positions_forward(context, {.x = y, .y = table}), InternalError);
  EXPECT_THROW(add_positions_backward(context, {.dy = y, .dx = table}), InternalError);
}

TEST(EmbedChecks, RunsDryOnMeta) {
  Context meta({DeviceKind::Meta, 0});
  const auto t = [&](Shape shape, DType dtype = DType::BF16) { return meta.empty(shape, dtype); };
  const Tensor tokens = t({6}, DType::I32), y = t({6, 8});
  embed_forward(meta, {.tokens = tokens, .table = t({50, 8}), .positions = t({9, 8}), .row_positions = tokens, .y = y});
  embed_backward(meta,
                 {.dy = y, .tokens = tokens, .by_token = tokens, .dtable = {t({50, 8}, DType::F32), Accumulate::Add}});
  add_positions_forward(meta, {.x = y, .y = y});
  add_positions_backward(meta, {.dy = y, .dx = y});
  const auto& entries = meta.ledger().entries();
  EXPECT_EQ(entries.at("embed_forward").bytes, 6 * 4 + 3 * 48 * 2);
  EXPECT_EQ(entries.at("embed_backward").bytes, 6 * 4 + 48 * 2 + 2 * 48 * 4);  // the rows, not the vocabulary
  EXPECT_EQ(entries.at("add_positions_forward").bytes, 2 * 48 * 2);
  EXPECT_EQ(entries.at("add_positions_backward").calls, 1);
}

// Rotating each pair by its angle times k takes PE(t) to PE(t + k), for every t.
TEST(Sinusoids, ShiftIsAFixedLinearMap) {
  const int64_t length = 200, width = 24, half = width / 2;
  for (const SinusoidForm form : {SinusoidForm::Interleaved, SinusoidForm::Halves, SinusoidForm::HalvesFromOne}) {
    const std::vector<float> pe = sinusoids(length, width, form, 10000);
    for (const int64_t k : {1, 7, 50}) {
      for (int64_t i = 0; i < half; ++i) {
        const int64_t sine = form == SinusoidForm::Interleaved ? 2 * i : i;
        const int64_t cosine = form == SinusoidForm::Interleaved ? 2 * i + 1 : half + i;
        const int64_t pair = form == SinusoidForm::HalvesFromOne ? i + 1 : i;
        const double angle = static_cast<double>(k) / std::pow(10000, 2.0 * static_cast<double>(pair) / width);
        for (int64_t t = 0; t + k < length; ++t) {
          const double s = pe[t * width + sine], c = pe[t * width + cosine];
          ASSERT_NEAR(pe[(t + k) * width + sine], s * std::cos(angle) + c * std::sin(angle), 3e-7);
          ASSERT_NEAR(pe[(t + k) * width + cosine], c * std::cos(angle) - s * std::sin(angle), 3e-7);
        }
      }
    }
  }
}

// Positions and pairs counted from 1, all sines before all cosines, by the loop that such a text has.
TEST(Sinusoids, HalvesFromOneCountPositionsAndPairsFromOne) {
  const int64_t length = 5, width = 64;
  const std::vector<float> table = sinusoids(length, width, SinusoidForm::HalvesFromOne, 10000);
  const auto at = [&](int64_t t, int64_t column) { return table[(t - 1) * width + column - 1]; };
  for (int64_t t = 1; t <= length; ++t) {
    for (int64_t i = 1; i <= width / 2; ++i) {
      const double angle = static_cast<double>(t) / std::pow(10000, 2.0 * static_cast<double>(i) / width);
      EXPECT_FLOAT_EQ(at(t, i), static_cast<float>(std::sin(angle)));
      EXPECT_FLOAT_EQ(at(t, width / 2 + i), static_cast<float>(std::cos(angle)));
    }
  }
  EXPECT_FLOAT_EQ(at(1, 1), 0.68156135f);   // sin(10000^(-2 / 64))
  EXPECT_FLOAT_EQ(at(5, 64), 0.99999988f);  // cos(5 / 10000)
}

// Each column has the exponent of its own number, by the products of exponentials that such a code has.
TEST(Sinusoids, PerColumnGivesEachCosineAFrequencyOfItsOwn) {
  const int64_t length = 40, width = 144;
  const std::vector<float> table = sinusoids(length, width, SinusoidForm::PerColumn, 10000);
  for (int64_t c = 0; c < width; ++c) {
    const double factor = std::exp(static_cast<double>(c) * (-std::log(10000.0) / width));
    for (int64_t t = 0; t < length; ++t) {
      const double angle = static_cast<double>(t) * factor;
      EXPECT_NEAR(table[t * width + c], c % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-7);
    }
  }
  const std::vector<float> formula = sinusoids(length, width, SinusoidForm::Interleaved, 10000);
  EXPECT_EQ(table[3 * width + 2], formula[3 * width + 2]);  // sines agree with the interleaved formula
  EXPECT_NE(table[3 * width + 3], formula[3 * width + 3]);
}

TEST(Sinusoids, ValuesBaseAndOddWidths) {
  std::vector<float> table = sinusoids(3, 5, SinusoidForm::Interleaved, 100);
  const auto at = [&](int64_t t, int64_t c) { return table[t * 5 + c]; };
  EXPECT_EQ(at(0, 0), 0);
  EXPECT_EQ(at(0, 1), 1);
  EXPECT_FLOAT_EQ(at(2, 0), std::sin(2.0f));
  EXPECT_FLOAT_EQ(at(2, 3), static_cast<float>(std::cos(2 / std::pow(100, 2.0 / 5))));
  EXPECT_FLOAT_EQ(at(2, 4), static_cast<float>(std::sin(2 / std::pow(100, 4.0 / 5))));
  table = sinusoids(3, 5, SinusoidForm::Halves, 100);
  EXPECT_FLOAT_EQ(at(2, 2), static_cast<float>(std::sin(2 / std::pow(100, 4.0 / 5))));
  EXPECT_FLOAT_EQ(at(2, 3), std::cos(2.0f));
  EXPECT_THROW(sinusoids(3, 5, SinusoidForm::Halves, 0), InternalError);
}

}  // namespace
}  // namespace weft
