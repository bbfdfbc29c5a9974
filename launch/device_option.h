// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/device/devices.h"
#include "launch/choice_option.h"

namespace weft {

// --device: where a command computes that reads no job, or reads one and is told otherwise.
inline void add_device_option(CLI::App& command, DeviceChoice& device) {
  add_choice_option(command, "--device", device, "auto (a CUDA device if there is one), cpu or cuda", "DEVICE");
}

}  // namespace weft
