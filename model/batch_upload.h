// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "data/batches/batch.h"
#include "kernels/transfer.h"
#include "model/transformer.h"

namespace weft {

// A micro-batch on its way to the model's device, for training (Backward) or to be scored. Its memory is taken when
// this is made; what is queued from then on runs while it is packed and uploaded:
//   BatchUpload next(model, batch, use);
//   ...                       // the micro-batch before it is queued
//   next.send();
//   use(next.arrive());
class BatchUpload {
 public:
  // `batch` must stay until send().
  BatchUpload(Transformer& model, const MicroBatch& batch, TokenUse use);
  void send();
  // What is queued from here on reads it.
  ModelBatch arrive();

 private:
  std::optional<TokenPacking> source_;
  TokenPacking input_;
  std::span<const int32_t> targets_;
  UploadAhead upload_;
  ModelBatch batch_;
};

// The same with nothing in between.
ModelBatch to_device(Transformer& model, const MicroBatch& batch, TokenUse use);

}  // namespace weft
