// SPDX-License-Identifier: Apache-2.0
#include "model/packed_weights.h"

namespace weft {

void PackedWeights::set_format(WeightFormat format) {
  if (format != format_) drop();
  format_ = format;
}

PackedWeight PackedWeights::of(const Tensor& weight) {
  if (version_ != registry_.weights_version()) drop();
  version_ = registry_.weights_version();
  PackedWeight& packed = packed_[{weight.place(), weight.elements()}];
  if (!packed) packed = pack_weight(registry_.context(), weight, format_);
  return packed;
}

size_t PackedWeights::bytes() const {
  size_t sum = 0;
  for (const auto& [place, packed] : packed_) sum += packed->data.bytes();
  return sum;
}

}  // namespace weft
