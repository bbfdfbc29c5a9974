// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string_view>

#include "checkpoint/manifest.h"

namespace weft {

// Of the algorithms that the run's device had measured (kernels/device/tuning.h), where it measures.
inline constexpr std::string_view kAlgorithmsAttachment = "algorithms.json";

inline bool has_attachment(const CheckpointManifest& manifest, std::string_view name) {
  return std::ranges::find(manifest.attachments, name, &CheckpointAttachment::name) != manifest.attachments.end();
}

}  // namespace weft
