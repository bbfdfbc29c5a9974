// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "model/config.h"
#include "model/tape.h"

namespace weft {

class KeyValueCache;
class PackedWeights;
struct AttentionForward;

// Looks at attention where it happens. Layers call it when an attention of a pass without backward has run: in the
// order of the layers, and in a decoder's layer for the text itself before the source (args.q). The tensors of `args`
// live as long as the call.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  virtual void attended(int layer, const AttentionForward& args) = 0;
};

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
  AttentionObserver* observer = nullptr;  // null: nobody looks

  Context& context() const { return tape.context(); }
  // Returns the dropout of a site (LayerScope::dropout_id), inactive outside training. `rows` are the rows of the
  // tensor that it acts on.
  Dropout dropout(double probability, uint64_t dropout_id, const RowIds& rows) const;
};

}  // namespace weft
