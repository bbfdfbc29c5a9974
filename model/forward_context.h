// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "model/config.h"
#include "model/tape.h"

namespace weft {

class KeyValueCache;
class PackedWeights;

// Everything that layers share during one forward pass.
struct ForwardContext {
  Tape& tape;
  StepState step;
  KeyValueCache* cache = nullptr;
  // A row's bits do not depend on the rows beside it (decoding): products read packed weights, and sums over tp are in
  // rank order.
  bool batch_invariant = false;
  PackedWeights* packed = nullptr;  // null: products read the weights as they are
  Recompute recompute = Recompute::None;

  Context& context() const { return tape.context(); }
  // Returns the dropout of a site (LayerScope::dropout_id), inactive outside training. `rows` are the rows of the
  // tensor that it acts on.
  Dropout dropout(double probability, uint64_t dropout_id, const RowIds& rows) const;
};

}  // namespace weft
