// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/exact_step.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/exact/fixed_point.h"
#include "kernels/transfer.h"
#include "parallel/halves.h"

namespace weft {
namespace {

void put(int64_t value, double* to) { std::ranges::copy(halves(static_cast<uint64_t>(value)), to); }
double taken(const double* from) { return static_cast<double>(static_cast<int64_t>(from_halves(from))); }

// What every rank adds for a parameter: the halves of two sums of squares.
constexpr size_t kSums = 4;
// What every rank has the maximum of.
constexpr size_t kMaxima = 3;

double greatest_of(double bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

}  // namespace

ExactStep::ExactStep(Transformer& model, ExactSums& sums)
    : model_(model),
      sums_(sums),
      exponents_(model.parameters().parameters().size()),
      facts_(model.parameters().parameters().size()),
      losses_(model.context().empty({2 * kMostLeaves}, DType::F64)) {}

void ExactStep::prepare(const StepBatches& batches) { sums_.prepare(exponents_.now(), batches.most_micro); }

void ExactStep::clear_losses() { fill(model_.context(), losses_, 0); }

LossSums ExactStep::loss(size_t micro) const {
  const auto at = 2 * static_cast<int64_t>(micro);
  return {.loss = losses_.slice(at, at + 1), .nll = losses_.slice(at + 1, at + 2)};
}

// One sum over the world: of a leaf's losses only one rank has more than 0, and all else are integers, so that no order
// of adding changes a bit.
ExactStep::Totals ExactStep::totals(const StepBatches& batches) {
  Context& context = model_.context();
  Mesh& mesh = model_.parameters().mesh();
  require<InternalError>(batches.leaves > 0 && batches.leaves <= kMostLeaves, "a step of {} leaves", batches.leaves);
  const size_t parameters = facts_.size(), mine = batches.micro.size();
  std::vector<double> losses(2 * mine);
  if (mine > 0) download(context, losses_.slice(0, std::ssize(losses)), std::span<double>(losses));
  std::vector<int64_t> facts(parameters * kFixedPointFacts);
  download(context, sums_.facts(), std::span<int64_t>(facts));

  std::vector<double> sums(2 * static_cast<size_t>(batches.leaves) + kSums * parameters), maxima(kMaxima * parameters);
  for (size_t i = 0; i < mine && mesh.first_of_replica(); ++i) {
    const auto leaf = static_cast<size_t>(batches.leaf[i]);
    sums[2 * leaf] = losses[2 * i], sums[2 * leaf + 1] = losses[2 * i + 1];
  }
  double* const squares = &sums[2 * static_cast<size_t>(batches.leaves)];
  for (size_t i = 0; i < parameters; ++i) {
    const int64_t* of = &facts[i * kFixedPointFacts];
    put(of[kFactSquaresHigh], &squares[kSums * i]);
    put(of[kFactSquaresLow], &squares[kSums * i + 2]);
    maxima[kMaxima * i] = static_cast<double>(of[kFactGreatest]);
    maxima[kMaxima * i + 1] = (of[kFactFlags] & kFactOverflow) != 0 ? 1 : 0;
    maxima[kMaxima * i + 2] = (of[kFactFlags] & kFactNonFinite) != 0 ? 1 : 0;
  }
  mesh.world().all_reduce_host(sums, ReduceOp::Sum);
  mesh.world().all_reduce_host(maxima, ReduceOp::Max);

  for (size_t i = 0; i < parameters; ++i) {
    const double high = taken(&squares[kSums * i]), low = taken(&squares[kSums * i + 2]);
    const double greatest = greatest_of(maxima[kMaxima * i]);
    facts_[i] = {.squares = high + std::ldexp(low, -31),
                 .greatest = greatest,
                 .overflow = maxima[kMaxima * i + 1] > 0,
                 .not_finite = maxima[kMaxima * i + 2] > 0 || !std::isfinite(greatest)};
  }
  Totals totals{.squared_norm = squared_norm(facts_, exponents_.now())};
  for (size_t leaf = 0; leaf < static_cast<size_t>(batches.leaves); ++leaf) {
    totals.loss += sums[2 * leaf], totals.nll += sums[2 * leaf + 1];
  }
  totals.repeat = std::isfinite(totals.loss) && exponents_.must_repeat(facts_);
  return totals;
}

}  // namespace weft
