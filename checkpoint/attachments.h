// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/manifest.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

// The algorithms that the run's device has measured (kernels/device/tuning.h), if it measures any.
inline constexpr const char* kAlgorithmsAttachment = "algorithms.json";

bool has_attachment(const CheckpointManifest& manifest, std::string_view name);

// Names and texts of a checkpoint's tokenizers. A language model attaches one tokenizer under both names.
std::vector<std::pair<std::string, std::string>> tokenizer_attachments(const Tokenizer& source,
                                                                       const Tokenizer& target);

struct CheckpointTokenizers {
  TokenizerPtr source, target;  // equal for a language model
};

}  // namespace weft
