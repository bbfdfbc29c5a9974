// SPDX-License-Identifier: Apache-2.0
#include "model/forward_context.h"

namespace weft {

Dropout ForwardContext::dropout(double probability, uint64_t dropout_id, const RowIds& rows) const {
  if (!tape.training() || probability <= 0) return {};
  return {.probability = probability, .dropout_id = dropout_id, .first_channel = 0, .step = step, .rows = rows};
}

}  // namespace weft
