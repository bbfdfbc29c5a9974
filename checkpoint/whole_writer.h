// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/writer.h"

namespace weft {

// A tensor of the master weights, fp32.
struct WholeTensor {
  std::string name;
  Shape shape;
};

// Writes the committed checkpoint `out`, a NewDirectory, in one process: `fill` gives the values of one tensor after
// the other, so that only one is in memory at a time. After an error no file is left behind.
void write_whole_checkpoint(const fs::path& out, const CheckpointHeader& header,
                            const std::vector<WholeTensor>& tensors,
                            const std::function<void(const WholeTensor&, std::span<float>)>& fill);

}  // namespace weft
