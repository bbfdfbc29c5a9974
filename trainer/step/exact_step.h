// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "data/batches/batch.h"
#include "kernels/ops/exact/fixed_point.h"
#include "model/transformer.h"
#include "parallel/parameters/exact_sums.h"
#include "trainer/step/exponents.h"

namespace weft {

// The sums of a step that has the same bits on any number of replicas (numerics: same_bits): the losses of its leaves,
// and the norm of its gradient.
class ExactStep {
 public:
  // The most leaves of a step: sums of so many integers cannot overflow.
  static constexpr int64_t kMostLeaves = kMostFixedPointTerms;

  ExactStep(Transformer& model, ExactSums& sums);

  void restore(const std::vector<int32_t>& exponents) { exponents_.restore(exponents); }
  const std::vector<int32_t>& exponents() const { return exponents_.known(); }
  size_t integer_bytes() const { return sums_.bytes(); }
  void begin_step() { exponents_.begin_step(); }
  // Before a try at the step is queued; not to be captured into a graph.
  void prepare(const StepBatches& batches);
  void clear_losses();
  // The sums of this rank's micro-batch i.
  LossSums loss(size_t micro) const;

  struct Totals {
    double loss = 0, nll = 0;  // over all leaves, in their order
    double squared_norm = 0;
    bool repeat = false;  // some exponent did not fit: the step is to be computed again
  };
  // Reads the device. Collective over all ranks, which get the same.
  Totals totals(const StepBatches& batches);
  void end_step() { exponents_.end_step(facts_); }  // the step counts

 private:
  Transformer& model_;
  ExactSums& sums_;
  Exponents exponents_;
  std::vector<GradientFacts> facts_;
  Tensor losses_;  // f64 [2 kMostLeaves]: loss and nll of each micro-batch
};

}  // namespace weft
