// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "kernels/formulas/host_device.h"

// Scores that tokens are chosen by (kernels/ops/choose_tokens.h).
namespace weft::formulas {

WEFT_HOST_DEVICE inline float log_probability(float logit, double log_sum) {
  return static_cast<float>(logit - log_sum);
}

// The score of a token that the text has already.
WEFT_HOST_DEVICE inline float penalised(float score, float penalty) {
  return score > 0 ? score / penalty : score * penalty;
}

// The probability with which a token is drawn.
WEFT_HOST_DEVICE inline double share(float score, double scale, double log_mass) {
  return std::exp(static_cast<double>(score) * scale - log_mass);
}

}  // namespace weft::formulas
