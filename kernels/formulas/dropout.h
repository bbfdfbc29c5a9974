// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/formulas/host_device.h"

// The numbering of draws and the test of kernels/step_state.h's Dropout, which give every device the same masks.
namespace weft::formulas {

constexpr int kDrawsOfCall = 8;  // channels that one Philox call serves, 16 bits each

// Philox's key at one site of the model in one step.
WEFT_HOST_DEVICE inline uint64_t dropout_key(uint64_t step_key, uint64_t dropout_id) { return step_key ^ dropout_id; }

WEFT_HOST_DEVICE inline bool is_dropped(uint32_t draw, uint32_t threshold) { return draw < threshold; }

}  // namespace weft::formulas
