// SPDX-License-Identifier: Apache-2.0
#include "model/batch_upload.h"

#include <algorithm>
#include <vector>

namespace weft {
namespace {

TokenPacking packing_of(const Transformer& model, const MicroBatch& batch, const PackedSequences& side, TokenUse use) {
  return {
      {.tokens = side.tokens, .offsets = side.offsets, .sequence_ids = batch.sequence_ids}, use, model.residual_part()};
}

std::optional<TokenPacking> source_packing(const Transformer& model, const MicroBatch& batch, TokenUse use) {
  if (batch.source.sequences() == 0) return std::nullopt;
  return packing_of(model, batch, batch.source, use);
}

}  // namespace

BatchUpload::BatchUpload(Transformer& model, const MicroBatch& batch, TokenUse use)
    : source_(source_packing(model, batch, use)),
      input_(packing_of(model, batch, batch.input, use)),
      targets_(batch.targets),
      upload_(model.context(),
              {(source_ ? source_->elements() : 0) + input_.elements() + static_cast<int64_t>(targets_.size())},
              DType::I32) {}

void BatchUpload::send() {
  const Tensor& device = upload_.tensor();
  std::vector<int32_t> host(static_cast<size_t>(device.elements()));
  int64_t taken = 0;
  const auto pack = [&](const TokenPacking& packing) {
    const int64_t begin = taken;
    taken += packing.elements();
    return packing.pack(std::span(host).subspan(begin, packing.elements()), device.slice(begin, taken));
  };
  if (source_) batch_.source = pack(*source_);
  batch_.input = pack(input_);
  std::ranges::copy(targets_, host.begin() + taken);
  batch_.targets = device.slice(taken, device.elements());
  batch_.arrays = device;
  upload_.send(std::as_bytes(std::span(host)));
}

ModelBatch BatchUpload::arrive() {
  upload_.arrive();
  return std::move(batch_);
}

ModelBatch to_device(Transformer& model, const MicroBatch& batch, TokenUse use) {
  BatchUpload upload(model, batch, use);
  upload.send();
  return upload.arrive();
}

}  // namespace weft
