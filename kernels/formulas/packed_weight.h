// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "kernels/formulas/host_device.h"

// Weights that are packed as int8: a row w becomes round(w / scale), with one scale per row.
namespace weft::formulas {

// The range of the weights of a row, or of a part of a row.
struct Int8Range {
  float largest = 0;  // |w|
  float finite = 0;   // 0, or NaN if a weight is not finite

  WEFT_HOST_DEVICE void add(float w) {
    const float magnitude = std::fabs(w);
    largest = largest < magnitude ? magnitude : largest;
    finite += w * 0.0f;
  }
  // max |w| / 127; NaN if a weight is not finite, which every product then shows.
  WEFT_HOST_DEVICE float scale() const { return finite == 0 ? largest / 127 : finite; }
};

// A row of zeros, or one that is not finite, is packed as zeros.
WEFT_HOST_DEVICE inline float inverse_scale(float scale) { return scale > 0 ? 1 / scale : 0; }

}  // namespace weft::formulas
