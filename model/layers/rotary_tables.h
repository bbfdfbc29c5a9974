// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "kernels/ops/heads.h"
#include "model/config.h"

namespace weft {

// The angle by which pair i of a head turns from one position to the next, i < head_dim / 2.
std::vector<double> rotary_angles(const RotaryConfig& config, int64_t head_dim);

// The constant tables of a model with rotary positions; empty in any other.
class RotaryTables {
 public:
  // Makes the tables of all positions; called once the registry is allocated.
  void prepare(Context& context, const TransformerConfig& config, DType compute);
  // The rotation of rows at these positions, i32[rows].
  Rotary at(const Tensor& row_positions) const;
  int64_t positions() const { return cosines_.rows(); }

 private:
  Tensor cosines_, sines_;
  RotaryForm form_ = RotaryForm::Halves;
};

}  // namespace weft
