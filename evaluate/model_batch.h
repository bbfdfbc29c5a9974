#pragma once
#include "data/batch.h"
#include "model/transformer.h"

namespace weft {

// Copies a host micro-batch to the model's device, for training (Backward) or to be scored.
ModelBatch to_device(Transformer& model, const MicroBatch& batch, TokenUse use);

}  // namespace weft
