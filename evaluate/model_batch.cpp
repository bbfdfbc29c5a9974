#include "evaluate/model_batch.h"

#include <algorithm>

namespace weft {

ModelBatch to_device(Context& context, const MicroBatch& batch) {
  ModelBatch out;
  if (batch.source.sequences() > 0) {
    out.source = pack_tokens(context, batch.source.tokens, batch.source.offsets, batch.sequence_ids);
  }
  out.input = pack_tokens(context, batch.input.tokens, batch.input.offsets, batch.sequence_ids);
  out.targets = context.empty({out.input.count()}, DType::I32);
  if (!context.meta()) std::ranges::copy(batch.targets, out.targets.data<int32_t>());
  return out;
}

}  // namespace weft
