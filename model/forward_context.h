#pragma once
#include <cstdint>

#include "model/config.h"
#include "model/tape.h"

namespace weft {

class KeyValueCache;

// What layers need to run once: the tape, this step's state, and while decoding the cache.
struct ForwardContext {
  Tape& tape;
  StepState step;
  KeyValueCache* cache = nullptr;
  // Products in blocks of a fixed number of rows: a row's bits then do not depend on the rows beside it (decoding).
  bool batch_invariant = false;
  Recompute recompute = Recompute::None;

  Context& context() const { return tape.context(); }
  // The dropout of a site (LayerScope::dropout_id); inactive outside training. `rows` are those of the tensor that it
  // acts on.
  Dropout dropout(double probability, uint64_t dropout_id, const RowIds& rows) const;
};

}  // namespace weft
