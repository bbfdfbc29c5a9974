// What CUDA kernels ask of memory, counted by the simulated device from real addresses: at the widths of models, reads
// and writes are 16 bytes a lane and leave little of a sector unused, and shared memory has no bank conflicts.
#include <array>
#include <cstdio>

#include "kernels/cross_entropy.h"
#include "kernels/embed.h"
#include "kernels/optimizer.h"
#include "kernels/reduction.h"
#include "kernels/residual_norm.h"
#include "tests/cuda_device/runtime/simulator.h"
#include "tests/kernels/check.h"
#include "tests/support/managed_backend.h"

namespace weft {
namespace {

using namespace test;
using cuda_device::Counters;
using cuda_device::Traffic;

constexpr size_t kWhole = 4;  // the index of 16 bytes in Counters::kWidths

struct Case {
  DType dtype;
  int64_t width;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << name(c.dtype) << " " << c.width; }
};

class CudaTraffic : public testing::TestWithParam<Case> {
 protected:
  CudaTraffic() : context(1, managed_cuda_backend(1)) { state.dropout_key = 7; }

  Tensor rows_of(uint64_t seed) { return random(context, {kRows, width}, dtype, seed); }
  Tensor row_of(uint64_t seed) { return random(context, {width}, dtype, seed); }
  Tensor sums() { return context.zeros({width}, DType::F32); }
  Tensor statistics() { return context.empty({kRows}, DType::F32); }
  Dropout dropout() { return {.probability = 0.1, .dropout_id = 3, .step = state, .rows = row_ids(context, kRows, 8)}; }
  Tensor sorted() {
    std::vector<int32_t> rows;
    for (int32_t r = 0; r < kRows; ++r) rows.push_back(r);
    return integers(context, rows);
  }

  // Runs it, and holds what it asked for to the rules. What is read for all lanes together (a row's number, its mean)
  // costs a sector each and is the rest of the traffic.
  template <class Run>
  void expect_whole_requests(const char* operation, Run&& run) {
    Counters& counted = cuda_device::simulator().counters;
    counted = {};
    run();
    const Counters c = counted;
    Traffic whole = c.loads[kWhole];
    whole += c.stores[kWhole];
    const auto part = [](uint64_t of, uint64_t all) { return static_cast<double>(of) / static_cast<double>(all); };
    const double wanted = part(whole.wanted_bytes, 32 * whole.sectors);
    const double share = part(whole.sectors, c.global().sectors);
    const double conflicts = c.shared_cycles == 0 ? 1 : part(c.shared_cycles, c.shared_least_cycles);
    std::printf("%-28s %-5s %6lld: %5.1f %% of sectors by 16-byte requests, %5.1f %% of them wanted, shared %.2f\n",
                operation, std::string(name(dtype)).c_str(), static_cast<long long>(width), 100 * share, 100 * wanted,
                conflicts);
    EXPECT_GE(wanted, 0.9) << operation;
    EXPECT_GE(share, 0.9) << operation;
    EXPECT_LE(conflicts, 1.1) << operation;
  }

  static constexpr int64_t kRows = 96;
  DType dtype = GetParam().dtype;
  int64_t width = GetParam().width;
  Context context;
  StepState state;
};

class RowTraffic : public CudaTraffic {};

TEST_P(RowTraffic, ResidualNorm) {
  const ResidualNormForward forward{.x = rows_of(1),
                                    .bias = row_of(2),
                                    .dropout = dropout(),
                                    .residual = rows_of(3),
                                    .gamma = row_of(4),
                                    .beta = row_of(5),
                                    .sum = rows_of(6),
                                    .normed = rows_of(7),
                                    .mean = statistics(),
                                    .rstd = statistics()};
  expect_whole_requests("residual_norm_forward", [&] { residual_norm_forward(context, forward); });
  ResidualNormForward unrounded = forward;
  unrounded.x = random(context, {kRows, width}, DType::F32, 1);
  expect_whole_requests("residual_norm_forward of f32", [&] { residual_norm_forward(context, unrounded); });
  const ResidualNormBackward backward{.dsum = rows_of(8),
                                      .dnormed = rows_of(9),
                                      .sum = forward.sum,
                                      .gamma = forward.gamma,
                                      .mean = forward.mean,
                                      .rstd = forward.rstd,
                                      .dropout = forward.dropout,
                                      .dx = rows_of(10),
                                      .dresidual = rows_of(11),
                                      .dbias = sums(),
                                      .dgamma = sums(),
                                      .dbeta = sums()};
  expect_whole_requests("residual_norm_backward", [&] { residual_norm_backward(context, backward); });
}

TEST_P(RowTraffic, Embed) {
  const Tensor tokens = integers(context, [] {
    std::vector<int32_t> drawn;
    for (int32_t r = 0; r < kRows; ++r) drawn.push_back(r / 3 + (r > 20 && r < 90 ? 0 : 1));
    return drawn;
  }());
  const Dropout dropped = dropout();
  expect_whole_requests("embed_forward", [&] {
    embed_forward(context, {.tokens = tokens,
                            .table = random(context, {64, width}, dtype, 1),
                            .positions = random(context, {8, width}, dtype, 2),
                            .dropout = dropped,
                            .row_positions = dropped.rows.position,
                            .y = rows_of(3)});
  });
  const Tensor dtable = context.zeros({64, width}, DType::F32), dy = rows_of(4), order = sorted();
  expect_whole_requests("embed_backward", [&] {
    embed_backward(context, {.dy = dy, .tokens = tokens, .by_token = order, .dropout = dropped, .dtable = dtable});
  });
}

TEST_P(RowTraffic, RowsAndColumns) {
  const Tensor x = rows_of(1), y = rows_of(2), row = row_of(3), out = sums();
  expect_whole_requests("add_row", [&] { add_row(context, row, y); });
  expect_whole_requests("add_scaled", [&] { add_scaled(context, x, 0.5, y); });
  expect_whole_requests("gather_rows", [&] { gather_rows(context, x, sorted(), y); });
  expect_whole_requests("sum_rows", [&] { sum_rows(context, x, out, Accumulate::Add); });
  const Tensor f32 = random(context, x.shape(), DType::F32, 4), bf16 = random(context, x.shape(), DType::BF16, 5);
  expect_whole_requests("convert to bf16", [&] { convert(context, f32, bf16); });
  expect_whole_requests("convert to f32", [&] { convert(context, bf16, f32); });
  expect_whole_requests("fill", [&] { fill(context, x, 1); });
}

TEST_P(RowTraffic, Optimizer) {
  const Shape flat{kRows * width};
  const auto buffer = [&](uint64_t seed) { return random(context, flat, DType::F32, seed); };
  const AdamUpdate update{.parameter = buffer(1),
                          .gradient = buffer(2),
                          .moment1 = buffer(3),
                          .moment2 = constant(context, flat, DType::F32, 1),
                          .compute = random(context, flat, dtype, 4),
                          .spans = share_update_spans(context, {0, width, 5 * width}, {0, 0.1, 0}, {1, 1, 1}),
                          .step = state};
  expect_whole_requests("adam_update", [&] { adam_update(context, update); });
  const Tensor part = buffer(5), out = context.empty({1}, DType::F64);
  expect_whole_requests("square_sum", [&] { square_sum(context, {.parts = {&part, 1}, .out = out}); });
}

INSTANTIATE_TEST_SUITE_P(Widths, RowTraffic,
                         testing::Values(Case{DType::F32, 768}, Case{DType::BF16, 768}, Case{DType::F32, 1600},
                                         Case{DType::BF16, 1600}),
                         [](const auto& i) { return printable(testing::PrintToString(i.param)); });

class VocabularyTraffic : public CudaTraffic {};

TEST_P(VocabularyTraffic, CrossEntropy) {
  constexpr int64_t kFew = 3;
  const Tensor logits = random(context, {kFew, width}, DType::F32, 1, 3), targets = integers(context, {5, 50000, 17});
  const auto column = [&] { return context.empty({kFew}, DType::F32); };
  const Tensor loss = column(), most = column(), sum = column(), target = column();
  expect_whole_requests("cross_entropy_stats", [&] {
    cross_entropy_stats(context, {.logits = logits,
                                  .targets = targets,
                                  .valid_columns = 50257,
                                  .row_max = most,
                                  .row_sum = sum,
                                  .row_target = target});
  });
  const Tensor dlogits = dtype == DType::F32 ? logits : context.empty({kFew, width}, dtype);
  expect_whole_requests("cross_entropy_gradient", [&] {
    cross_entropy_gradient(context, {.logits = logits,
                                     .targets = targets,
                                     .valid_columns = 50257,
                                     .row_max = most,
                                     .row_sum = sum,
                                     .vocabulary = 50257,
                                     .dlogits = dlogits});
  });
  expect_whole_requests("cross_entropy", [&] {
    cross_entropy(context,
                  {.logits = logits, .targets = targets, .valid_columns = 50257, .loss = loss, .dlogits = dlogits});
  });
  // A row is read once, and its gradient written once.
  const double bytes = static_cast<double>(logits.bytes() + dlogits.bytes());
  const double moved = 32.0 * static_cast<double>(cuda_device::simulator().counters.global().sectors);
  EXPECT_NEAR(moved, bytes, 0.01 * bytes);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, VocabularyTraffic,
                         testing::Values(Case{DType::F32, 50304}, Case{DType::BF16, 50304}),
                         [](const auto& i) { return printable(testing::PrintToString(i.param)); });

}  // namespace
}  // namespace weft
