#pragma once
#include "data/batch.h"
#include "model/transformer.h"

namespace weft {

// Copies a host micro-batch to the model's device.
ModelBatch to_device(Context& context, const MicroBatch& batch);

}  // namespace weft
