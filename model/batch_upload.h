// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "data/batches/batch.h"
#include "kernels/transfer.h"
#include "model/transformer.h"

namespace weft {

// Uploads a micro-batch to the model's device, for training (Backward) or to be scored. The constructor takes the
// memory; work that is queued after it runs while the batch is packed and uploaded:
//   BatchUpload next(model, batch, use);
//   ...                       // the micro-batch before it is queued
//   next.send();
//   use(next.arrive());
class BatchUpload {
 public:
  // `batch` must live until send() returns.
  BatchUpload(Transformer& model, const MicroBatch& batch, TokenUse use);
  void send();
  // Work that is queued after this call may read the batch.
  ModelBatch arrive();

 private:
  std::optional<TokenPacking> source_;
  TokenPacking input_;
  std::span<const int32_t> targets_;
  UploadAhead upload_;
  ModelBatch batch_;
};

// Uploads a batch without overlapping the upload with other work.
ModelBatch to_device(Transformer& model, const MicroBatch& batch, TokenUse use);

}  // namespace weft
