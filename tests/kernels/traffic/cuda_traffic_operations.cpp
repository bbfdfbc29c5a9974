// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ops/activation.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/choose_tokens.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/exact/digest.h"
#include "kernels/ops/exact/fixed_point.h"
#include "kernels/ops/heads.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/optimizer.h"
#include "kernels/ops/reduction.h"
#include "kernels/ops/residual_norm.h"
#include "tests/kernels/fixture/attention_case.h"
#include "tests/kernels/traffic/cuda_traffic.h"

namespace weft::test {

void CudaTraffic::residual_norm() {
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
  // x, residual, sum and normed once; bias, gamma and beta by each row, a row's two names by each warp.
  const RowRequests r{kRows, width_, dtype_};
  // A row that a block's threads cannot keep is read twice more.
  const double numbers = r.numbers(2) + kRows * 2.0 * 32, lines = 3 * r.line() + (r.kept() ? 0 : 2 * r.matrix());
  expect_whole_requests("residual_norm_forward", {4 * r.matrix() + lines + numbers},
                        [&] { residual_norm_forward(context_, forward); });
  ResidualNormForward unrounded = forward;
  unrounded.x = random(context_, {kRows, width_}, DType::F32, 1);
  const double f32 = RowRequests{kRows, width_, DType::F32}.matrix();
  expect_whole_requests("residual_norm_forward of f32", {f32 + 3 * r.matrix() + lines + numbers},
                        [&] { residual_norm_forward(context_, unrounded); });
  const ResidualNormBackward backward{.dsum = rows_of(8),
                                      .dnormed = rows_of(9),
                                      .sum = forward.sum,
                                      .gamma = forward.gamma,
                                      .mean = forward.mean,
                                      .rstd = forward.rstd,
                                      .dropout = forward.dropout,
                                      .dx = {rows_of(10), Accumulate::Overwrite},
                                      .dresidual = {rows_of(11), Accumulate::Overwrite},
                                      .dbias = {sums(), Accumulate::Add},
                                      .dgamma = {sums(), Accumulate::Add},
                                      .dbeta = {sums(), Accumulate::Add}};
  // Five matrices, four numbers of a row; three rows of sums for each run of 16 rows. Where a row is not kept, two of
  // the matrices are read again, gamma by each row, and the sums are added to in memory row by row.
  const double wide = r.kept() ? 0 : 2 * r.matrix() + 2 * r.line() + 3 * 2 * f32;
  // While a kept row is worked on, the next one is on its way.
  const Requested asked{.bytes = 5 * r.matrix() + wide + r.numbers(4) + 3 * r.sums(kRows / 16),
                        .waits_with_copies_in_flight = r.kept() ? kRows * r.warps() : 0};
  expect_whole_requests("residual_norm_backward", asked, [&] { residual_norm_backward(context_, backward); });
}

void CudaTraffic::embed() {
  std::vector<int32_t> drawn;
  for (int32_t r = 0; r < kRows; ++r) drawn.push_back(r / 3 + (r > 20 && r < 90 ? 0 : 1));
  const Tensor tokens = integers(context_, drawn);
  const Dropout dropped = dropout();
  const RowRequests r{kRows, width_, dtype_};
  // A row of the table and one of the positions for each row; its token, position and two names.
  expect_whole_requests("embed_forward", {3 * r.matrix() + r.numbers(4)}, [&] {
    embed_forward(context_, {.tokens = tokens,
                             .table = random(context_, {64, width_}, dtype_, 1),
                             .positions = random(context_, {8, width_}, dtype_, 2),
                             .dropout = dropped,
                             .row_positions = dropped.rows.position,
                             .y = rows_of(3)});
  });
  const Tensor dtable = context_.zeros({64, width_}, DType::F32), dy = rows_of(4), order = sorted();
  // The gradient of each token that occurs is read and written; the first and the last sum of a chunk of 32 rows are
  // written and read once more.
  const auto occurring = static_cast<double>(std::set(drawn.begin(), drawn.end()).size());
  expect_whole_requests("embed_backward", {r.matrix() + 2 * r.f32() * (occurring + 2.0 * kRows / 32)}, [&] {
    embed_backward(
        context_,
        {.dy = dy, .tokens = tokens, .by_token = order, .dropout = dropped, .dtable = {dtable, Accumulate::Add}});
  });
}

void CudaTraffic::rows_and_columns() {
  const Tensor x = rows_of(1), y = rows_of(2), row = row_of(3), out = sums();
  const RowRequests r{kRows, width_, dtype_};
  const double of_f32 = RowRequests{kRows, width_, DType::F32}.matrix(), of_bf16 = of_f32 / 2;
  expect_whole_requests("add_row", {2 * r.matrix() + r.line()}, [&] { add_row(context_, row, y); });
  expect_whole_requests("add_scaled", {3 * r.matrix()}, [&] { add_scaled(context_, x, 0.5, y); });
  const Tensor order = sorted();
  expect_whole_requests("gather_rows", {2 * r.matrix() + r.numbers(1)}, [&] { gather_rows(context_, x, order, y); });
  expect_whole_requests("sum_rows", {r.matrix() + r.sums(2)}, [&] { sum_rows(context_, x, out, Accumulate::Add); });
  const Tensor parts = x.view({4, kRows, width_ / 4});
  expect_whole_requests("join_columns", {2 * r.matrix()}, [&] { join_columns(context_, parts, y); });
  const Tensor f32 = random(context_, x.shape(), DType::F32, 4), bf16 = random(context_, x.shape(), DType::BF16, 5);
  expect_whole_requests("convert to bf16", {of_f32 + of_bf16}, [&] { convert(context_, f32, bf16); });
  expect_whole_requests("convert to f32", {of_f32 + of_bf16}, [&] { convert(context_, bf16, f32); });
  expect_whole_requests("fill", {r.matrix()}, [&] { fill(context_, x, 1); });
}

void CudaTraffic::optimizer() {
  const Shape flat{kRows * width_};
  const auto buffer = [&](uint64_t seed) { return random(context_, flat, DType::F32, seed); };
  const AdamUpdate update{.parameter = buffer(1),
                          .gradient = buffer(2),
                          .moment1 = buffer(3),
                          .moment2 = constant(context_, flat, DType::F32, 1),
                          .compute = random(context_, flat, dtype_, 4),
                          .spans = share_update_spans(context_, {0, width_, 5 * width_}, {0, 0.1, 0}, {1, 1, 1}),
                          .step = state_};
  const auto elements = static_cast<double>(kRows * width_);
  const auto element = static_cast<double>(size_of(dtype_));
  // Three of the four are written too.
  expect_whole_requests("adam_update", {elements * (7 * 4 + element)}, [&] { adam_update(context_, update); });
  const Tensor part = buffer(5), out = context_.empty({1}, DType::F64);
  expect_whole_requests("square_sum", {elements * 4}, [&] { square_sum(context_, {.parts = {&part, 1}, .out = out}); });
}

void CudaTraffic::fixed_point() {
  const Shape flat{kRows * width_};
  const auto many = [&] { return constant(context_, flat, DType::I64, 3); };
  const Tensor x = random(context_, flat, DType::F32, 1), exponent = integers(context_, {40}), high = many(),
               low = many(), facts = context_.zeros({kFixedPointFacts}, DType::I64);
  const auto elements = static_cast<double>(kRows * width_);
  expect_whole_requests("to_fixed_point", {elements * (4 + 8 + 8)}, [&] {
    to_fixed_point(context_, {x, exponent, high, low, facts});
  });
  expect_whole_requests("from_fixed_point", {elements * (8 + 8 + 4)}, [&] {
    from_fixed_point(context_, {high, low, exponent, x, facts});
  });
  const Tensor sum = context_.empty({kRows * width_ / 2}, DType::F32);
  expect_whole_requests("sum_exactly", {elements * 4 + elements / 2 * 4}, [&] {
    sum_exactly(context_,
                {.x = x, .terms = 2, .stride = kRows * width_ / 2, .exponent = exponent, .out = sum, .facts = facts});
  });
  const Tensor of_any = random(context_, flat, dtype_, 2), digest = context_.zeros({1}, DType::I64);
  expect_whole_requests("add_digest", {static_cast<double>(of_any.bytes())},
                        [&] { add_digest(context_, {.x = of_any, .key = 1, .sum = digest}); });
}

void CudaTraffic::cross_entropy() {
  constexpr int64_t kFew = 3;
  const Tensor logits = random(context_, {kFew, width_}, DType::F32, 1, 3),
               targets = integers(context_, {5, 50000, 17});
  const auto column = [&] { return context_.empty({kFew}, DType::F32); };
  const Tensor loss = column(), most = column(), sum = column(), target = column();
  const auto read = static_cast<double>(logits.bytes());
  expect_whole_requests("cross_entropy_stats", {read}, [&] {
    cross_entropy_stats(context_, {.logits = logits,
                                   .targets = targets,
                                   .valid_columns = 50257,
                                   .row_max = most,
                                   .row_sum = sum,
                                   .row_target = target});
  });
  const Tensor dlogits = dtype_ == DType::F32 ? logits : context_.empty({kFew, width_}, dtype_);
  const auto written = static_cast<double>(dlogits.bytes());
  expect_whole_requests("cross_entropy_gradient", {read + written}, [&] {
    cross_entropy_gradient(context_, {.logits = logits,
                                      .targets = targets,
                                      .valid_columns = 50257,
                                      .row_max = most,
                                      .row_sum = sum,
                                      .vocabulary = 50257,
                                      .dlogits = dlogits});
  });
  expect_whole_requests("cross_entropy, loss alone", {read}, [&] {
    weft::cross_entropy(context_, {.logits = logits, .targets = targets, .valid_columns = 50257, .loss = loss});
  });
  // A row is read once, but for what its block cannot keep: the second pass reads that again, from the L2 cache, since
  // few rows are at work. Its gradient is written once.
  const int64_t kept = cuda::block_limits(0).shared_of_block - cuda::tuning::kCrossEntropyOwnBytes;
  const int64_t again = kFew * std::max<int64_t>(50257 * static_cast<int64_t>(sizeof(float)) - kept, 0);
  expect_whole_requests("cross_entropy", {read + written + static_cast<double>(again)}, [&] {
    weft::cross_entropy(
        context_, {.logits = logits, .targets = targets, .valid_columns = 50257, .loss = loss, .dlogits = dlogits});
  });
}

void CudaTraffic::choose_tokens() {
  const Tensor logits = random(context_, {3, width_}, DType::F32, 1, 3);
  const TextRules rules{.rows = integers(context_, {2, 0}),
                        .blocked_begins = integers(context_, {0, 1, 2}),
                        .blocked = integers(context_, {7, 50000}),
                        .repeated_begins = integers(context_, {0, 2, 3}),
                        .repeated = integers(context_, {3, 9, 17})};
  const Tensor best = context_.empty({2, 2 + 3 * 6}, DType::F64), drawn = context_.empty({2, 5}, DType::F64);
  const Tensor uniforms = constant(context_, {2}, DType::F64, 0.4);
  // Of two texts: the maximum and sum of their logits, the scores made of them, the masses, and the best or the drawn.
  const double scores = 2.0 * static_cast<double>(width_) * 4;
  expect_whole_requests("choose_tokens, the best", {5 * scores}, [&] {
    weft::choose_tokens(context_, {.logits = logits, .rules = rules, .count = 6, .masses = true, .out = best});
  });
  expect_whole_requests("choose_tokens, drawn", {5 * scores}, [&] {
    weft::choose_tokens(context_, {.logits = logits, .rules = rules, .uniforms = uniforms, .out = drawn});
  });
}

void CudaTraffic::activations() {
  const Tensor pre = rows_of(1), x = rows_of(2), y = rows_of(3);
  const RowRequests r{kRows, width_, dtype_};
  const double names = r.numbers_of_pieces(2);
  expect_whole_requests("activate", {2 * r.matrix() + names}, [&] {
    activate(context_, {.pre = pre, .activation = Activation::GeluTanh, .dropout = dropout(), .y = y});
  });
  // A gate and what it gates are read for each hidden feature; backward reads the gradient too, and writes two.
  const Tensor pairs = random(context_, {kRows, 2 * width_}, dtype_, 6);
  expect_whole_requests("gate_forward", {3 * r.matrix() + names}, [&] {
    gate_forward(context_, {.pre = pairs, .activation = Activation::Silu, .dropout = dropout(), .y = y});
  });
  expect_whole_requests("gate_backward", {5 * r.matrix() + names}, [&] {
    gate_backward(context_,
                  {.dy = y, .pre = pairs, .activation = Activation::Silu, .dropout = dropout(), .dpre = pairs});
  });
  constexpr int64_t kOut = 64;
  const Tensor dy = random(context_, {kRows, kOut}, dtype_, 4), weight = random(context_, {kOut, width_}, dtype_, 5);
  const Tensor dweight = context_.zeros(weight.shape(), DType::F32), dbias = context_.zeros({kOut}, DType::F32);
  const auto backward = [&](const Tensor& input_dbias) {
    linear_backward(context_, {.dy = dy,
                               .x = x,
                               .weight = weight,
                               .dx = {y, Accumulate::Overwrite},
                               .dweight = {dweight, Accumulate::Add},
                               .dbias = {dbias, Accumulate::Add},
                               .input_activation = Activation::GeluTanh,
                               .input_pre = pre,
                               .input_dropout = dropout(),
                               .input_dbias = {input_dbias, Accumulate::Add}});
  };
  // Beside its products: the gradient dx is read, multiplied by the slope at `pre` and written, and dy is summed.
  const RowRequests of_dy{kRows, kOut, dtype_};
  const double made = 3 * r.matrix() + names, summed = of_dy.matrix() + of_dy.sums(2);
  expect_whole_requests("linear_backward", {made + summed}, [&] { backward({}); });
  const Tensor input_dbias = sums();
  expect_whole_requests("linear_backward with bias", {made + summed + r.sums(2)}, [&] { backward(input_dbias); });
}

void CudaTraffic::heads() {
  constexpr int64_t kGroups = 4, kDim = 64;
  const HeadRow row{.groups = kGroups, .queries = 1, .keys = 1, .values = 1, .head_dim = kDim};
  const auto element = static_cast<double>(size_of(dtype_));
  const double head = kRows * kDim * element, turned = 2 * kGroups * head, all = 3 * kGroups * head;
  // Lanes with 16 bytes of either half of a head. Values are among the heads where they are copied.
  const int64_t lanes = kDim / 2 * static_cast<int64_t>(size_of(dtype_)) / 16;
  const HeadRequests r{kRows, kGroups, 2, lanes}, copied{kRows, kGroups, 3, lanes};
  constexpr double kSector = 32, kAngles = kDim * 4;
  const double gain = kDim * element;
  const Tensor x = random(context_, {kRows, row.columns()}, dtype_, 1), y = random(context_, x.shape(), dtype_, 2);
  Rotary rotary{.cosines = random(context_, {9, kDim / 2}, DType::F32, 5),
                .sines = random(context_, {9, kDim / 2}, DType::F32, 6)};
  std::vector<int32_t> at;
  for (int32_t i = 0; i < kRows; ++i) at.push_back(i % 9);
  rotary.row_positions = integers(context_, at);
  const double angles = r.row_warps() * kAngles, positions = r.warps() * kSector;
  expect_whole_requests("heads_forward", {2 * turned + angles + positions},
                        [&] { heads_forward(context_, {.x = x, .row = row, .rotary = rotary}); });
  HeadNorm norm{.scope = QkNorm::Head,
                .query_gamma = random(context_, {kDim}, dtype_, 3),
                .key_gamma = random(context_, {kDim}, dtype_, 4)};
  const double with_values = copied.row_warps() * kAngles + copied.gains() * gain + copied.warps() * kSector;
  expect_whole_requests("heads_forward by head", {2 * all + with_values},
                        [&] { heads_forward(context_, {.x = x, .row = row, .norm = norm, .rotary = rotary, .y = y}); });
  const Tensor sum = context_.zeros({kDim}, DType::F32), other = context_.zeros({kDim}, DType::F32);
  // The sums of each run of 16 rows are written and read, and those that they are added to.
  const double sums = 2 * (2 * kRows / 16 + 2) * kDim * 4.0;
  expect_whole_requests("heads_backward by head", {3 * turned + angles + r.gains() * gain + positions + sums}, [&] {
    heads_backward(context_, {.d = y,
                              .x = x,
                              .row = row,
                              .norm = norm,
                              .rotary = rotary,
                              .dquery_gamma = {sum, Accumulate::Add},
                              .dkey_gamma = {other, Accumulate::Add}});
  });
  norm = {.scope = QkNorm::Width,
          .query_gamma = random(context_, {kGroups * kDim}, dtype_, 7),
          .key_gamma = random(context_, {kGroups * kDim}, dtype_, 8),
          .squares = context_.zeros({kRows, 2}, DType::F32),
          .query_features = kGroups * kDim,
          .key_features = kGroups * kDim};
  const double written = kRows * kSector;
  expect_whole_requests("head_squares", {turned + written},
                        [&] { head_squares(context_, {.x = x, .row = row, .sums = norm.squares}); });
  // Every head has gains of its own; a warp asks for its row's sums of squares too.
  expect_whole_requests("head_products", {3 * turned + angles + 2 * positions + written}, [&] {
    head_products(context_, {.dy = y, .x = x, .row = row, .norm = norm, .rotary = rotary, .sums = norm.squares});
  });
}

void CudaTraffic::packed_products() {
  constexpr int64_t kOut = 64;
  const Tensor weight = random(context_, {kOut, width_}, dtype_, 1), bias = random(context_, {kOut}, dtype_, 2);
  const Tensor x = rows_of(3), y = context_.empty({kRows, kOut}, dtype_);
  for (const WeightFormat format : {WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8}) {
    PackedWeight packed;
    const RowRequests of_weight{kOut, width_, dtype_};
    const double element = format == WeightFormat::F32 ? 4 : format == WeightFormat::Bf16 ? 2 : 1;
    const double weights = static_cast<double>(kOut * width_) * element;
    // int8 needs the largest of each row first.
    const int reads = format == WeightFormat::Int8 ? 2 : 1;
    expect_whole_requests("pack_weight", {reads * of_weight.matrix() + weights},
                          [&] { packed = pack_weight(context_, weight, format); });
    // Eight rows of x share a weight; each of the four outputs of a block reads them for itself. An output asks for its
    // bias, for its scale if it has one, and for itself.
    const double of_x = static_cast<double>(kOut) * RowRequests{kRows, width_, dtype_}.matrix();
    const double outputs = static_cast<double>(kRows * kOut) * 32 * (format == WeightFormat::Int8 ? 3 : 2);
    expect_whole_requests("packed product", {weights * kRows / 8 + of_x + outputs}, [&] {
      linear_forward(context_, {.x = x, .weight = weight, .packed = packed, .bias = bias, .y = y});
    });
  }
}

void CudaTraffic::attention(int64_t window) {
  const std::vector<int64_t> of_long{150, 106}, of_short{40, 25, 31, 64};
  for (const auto& [head_dim, lengths] :
       {std::pair{64, of_long}, {64, of_short}, {32, of_long}, {32, of_short}, {128, of_long}, {256, of_long}}) {
    const std::vector<int32_t> rows = offsets_of({lengths.begin(), lengths.end()});
    AttentionRun run({.heads = {.kv_heads = head_dim == 64 ? width_ / 64 : 1, .head_dim = head_dim},
                      .query_offsets = rows,
                      .key_offsets = rows,
                      .causal = true,
                      .window = window,
                      .dropout = 0.1,
                      .dtype = dtype_});
    const double share = head_dim == 64 ? 0.9 : 0.7;
    const AttentionRequests tiles{lengths, head_dim == 64 ? width_ / 64 : 1, head_dim, dtype_, window};
    expect_whole_requests(
        "attention_forward", tiles.forward(), [&] { run.forward(); }, share);
    expect_whole_requests(
        "attention_backward", tiles.backward(), [&] { run.backward(); }, share);
  }
}

void CudaTraffic::cached_attention(int64_t window) {
  for (const auto& [added, head_dim] :
       {std::pair{1, 64}, {70, 64}, {1, 32}, {70, 32}, {1, 128}, {70, 128}, {1, 256}, {70, 256}}) {
    const AttentionHeads heads{.kv_heads = head_dim == 64 ? width_ / 64 : 2, .head_dim = head_dim};
    const int64_t width = heads.kv_heads * head_dim;
    const Tensor cache = random(context_, {2, 300, 2 * width}, dtype_, 1);
    const Tensor qkv = random(context_, {2 * added, 3 * width}, dtype_, 2);
    const Tensor out = context_.empty({2 * added, width}, dtype_);
    const SharedOffsets offsets = share_offsets(context_, std::vector{0, added, 2 * added});
    const SharedCacheRows cached = share_cache_rows(context_, {1, 0}, {208, 160});
    const CachedRequests tiles{{208, 160}, added, heads.kv_heads, head_dim, dtype_, window};
    expect_whole_requests(
        "cached_attention", tiles.all(),
        [&] {
          weft::cached_attention(context_, {.qkv = qkv,
                                            .heads = heads,
                                            .query_offsets = offsets,
                                            .rows = cached,
                                            .window = window,
                                            .scale = 0.125,
                                            .cache = cache,
                                            .out = out});
        },
        head_dim == 64 ? 0.9 : 0.7);
  }
}

}  // namespace weft::test
