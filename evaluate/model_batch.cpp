#include "evaluate/model_batch.h"

#include "kernels/transfer.h"

namespace weft {

ModelBatch to_device(Transformer& model, const MicroBatch& batch, TokenUse use) {
  Context& context = model.context();
  const auto pack = [&](const PackedSequences& side) {
    return pack_tokens(context, {.tokens = side.tokens, .offsets = side.offsets, .sequence_ids = batch.sequence_ids},
                       use, model.residual_part());
  };
  ModelBatch out;
  if (batch.source.sequences() > 0) out.source = pack(batch.source);
  out.input = pack(batch.input);
  out.targets = to_device(context, std::span<const int32_t>(batch.targets));
  return out;
}

}  // namespace weft
